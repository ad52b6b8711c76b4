import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { repairHistory } from "../../../src/history/reducer/repair-history.js";
import { ai, human, messagesIn, result } from "../../support/make-messages.js";
import { outline, toPlainList } from "../../support/plain-messages.js";
import { strictViolations } from "../../support/strict-check.js";
import { rowsOf } from "../../support/titled.js";

/** The ids. An added placeholder is `+` and the id of its call. */
function draw(given: readonly unknown[], messages: readonly BaseMessage[]): string {
  const isNew = (message: BaseMessage) => !given.some((one) => Object(one).id === message.id);
  return messages
    .map((message) => (isNew(message) ? `+${Reflect.get(message, "tool_call_id")}` : message.id))
    .join(" ");
}

describe("A list is repaired", () => {
  it.each(
    Object.entries({
      "by closing a dangling call": "h a(c) h2 => h a +c h2 ! call-closed",
      "by closing the calls of the last group too, because a strict check requires it":
        "h a(c,d) td:d => h a +c td ! call-closed",
      "by closing each of two calls of one id": "a(c,c) t:c h => a t +c h ! call-closed",
      "by moving a result to its call": "a(c) h t:c => a t h ! result-moved",
      "by putting results in call order": "a(c,d) td:d tc:c => a tc td ! result-moved result-moved",
      "by dropping an orphan": "t:c h => h ! orphan-refused",
      "by dropping the second result of a call": "a(c) t1:c t2:c h => a t1 h ! duplicate-refused",
      "by dropping a placeholder if a real result came later":
        "a(c) p?c h t:c => a t h ! duplicate-refused result-moved",
      "by occurrence, if an id repeats": "a(c) t:c h b(c) h2 => a t h b +c h2 ! call-closed",
      "by resolving removals": "h1 -* h2 h3 -h2 => h3",
    }),
  )("%s", (_title, line) => {
    const [list = "", outcome = ""] = line.split(" => ");
    const [expected, kinds] = outcome.split(" ! ");
    const messages = messagesIn(list);
    const repaired = repairHistory(messages);
    expect(draw(messages, repaired.messages)).toBe(expected);
    expect(repaired.repairs.map(({ kind }) => kind)).toEqual(kinds?.split(" ") ?? []);
    expect(strictViolations(repaired.messages)).toEqual([]);
  });

  it("by dropping values that are not messages", () => {
    const { messages, repairs } = repairHistory([null, human("h"), { content: "hi" }]);
    expect(outline(messages)).toBe("h");
    expect(repairs.map(({ kind }) => kind)).toEqual(["value-refused", "value-refused"]);
  });

  it("even if messages are plain objects", () => {
    const { messages } = repairHistory(["hi", { role: "assistant", content: "ho" }]);
    expect(messages.map(({ type, content }) => [type, content])).toEqual([
      ["human", "hi"],
      ["ai", "ho"],
    ]);
  });
});

describe("A sound list is returned as the same array", () => {
  it.each(
    Object.entries<BaseMessage[]>({
      "an empty list": messagesIn(""),
      "one without calls": messagesIn("s! h a()"),
      "one with groups": messagesIn("a(c,d) tc:c td:d h"),
      "one with a repeated id": messagesIn("a(c) t:c b(c) t2:c"),
      "one with two calls of one id: the first has a placeholder, the second a result":
        messagesIn("a(c,c) p?c t:c h"),
      "one with an invalid call": [
        new AIMessage({ id: "a", content: "", invalid_tool_calls: [{ id: "c", name: "t", args: "{" }] }),
        result("t", "c"),
      ],
      "one with calls that are only in the content": [
        new AIMessage({ id: "a", content: [{ type: "tool_use", id: "c", name: "t", input: {} }] }),
        result("t", "c"),
      ],
      "one with a chunk": [new AIMessageChunk("hi")],
      "one without ids": [new HumanMessage("hi"), new HumanMessage("hi")],
    }),
  )("%s", (_title, messages) => {
    const repaired = repairHistory(messages);
    expect(repaired.messages).toBe(messages);
    expect(repaired.repairs).toEqual([]);
  });
});

describe("A placeholder says why, as far as that is known", () => {
  const invalid = new AIMessage({
    content: "",
    id: "a",
    invalid_tool_calls: [{ id: "c", name: "search", args: "{" }],
  });

  it.each(
    rowsOf<[messages: BaseMessage[], text: string]>({
      "a new message came": [
        messagesIn("a(c) h"),
        "Tool call tool_c (c): a new message came before it finished. It may or may not have taken effect.",
      ],
      "the model went on without it": [
        messagesIn("a(c) b()"),
        "Tool call tool_c (c): no result was recorded for it. It may or may not have taken effect.",
      ],
      "the list ends there": [
        messagesIn("a(c)"),
        "Tool call tool_c (c): no result was recorded for it. It may or may not have taken effect.",
      ],
      "the arguments could not be parsed": [
        [invalid, human("h")],
        "Tool call search (c): its arguments were not valid JSON, so it was not run.",
      ],
    }),
  )("%s", (_title, messages, text) => {
    const [added] = repairHistory(messages).messages.slice(1);
    expect(added).toMatchObject({ type: "tool", content: text, status: "error" });
  });

  it("with an id that is saved with it", async () => {
    const serializer = new JsonPlusSerializer();
    const { messages } = repairHistory([human("h"), ai("a", "c"), human("h2")]);
    const loaded = await serializer.loadsTyped(...(await serializer.dumpsTyped(messages)));
    expect(toPlainList(loaded)).toEqual(toPlainList(messages));
  });

  it("with a unique id, even in a list without ids", () => {
    const open = () => new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: {} }] });
    const { messages } = repairHistory([open(), new HumanMessage("hi"), open(), new HumanMessage("hi")]);
    const ids = messages.filter(({ type }) => type === "tool").map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });
});

describe("What was done is reported", () => {
  it("with the complete message", () => {
    const orphan = result("t", "c");
    expect(repairHistory([orphan]).repairs).toEqual([
      { kind: "orphan-refused", message: orphan, key: "orphan-refused:t" },
    ]);
  });

  it("with the call that was closed", () => {
    const { messages, repairs } = repairHistory([ai("a", "c")]);
    expect(repairs).toMatchObject([
      { kind: "call-closed", call: { id: "c", name: "tool_c", kind: "valid" } },
    ]);
    expect(repairs[0]).toHaveProperty("message", messages[1]);
  });

  it("and nothing else: no result is moved if a list contains one result object twice", () => {
    const twice = result("t", "c");
    const { messages, repairs } = repairHistory([ai("a", "c"), twice, twice, human("h")]);
    expect(messages.map(({ id }) => id)).toEqual(["a", "t", "h"]);
    expect(repairs.map(({ kind }) => kind)).toEqual(["duplicate-refused"]);
  });
});

describe("It never throws", () => {
  const refuse = () => {
    throw new Error("Not to be read");
  };

  it.each<[title: string, messages: unknown[]]>([
    ["for a list with holes", new Array(2)],
    ["for an object that cannot be read", [new Proxy({}, { get: refuse, has: refuse })]],
    [
      "for a message whose calls cannot be read",
      [Object.defineProperty(new AIMessage("hi"), "tool_calls", { get: refuse })],
    ],
  ])("%s", (_title, messages) => {
    expect(() => repairHistory(messages)).not.toThrow();
  });
});

it("A result that stays at its call is not reported as moved if the list holds it at another place too", () => {
  const answer = result("r", "x");
  const { messages, repairs } = repairHistory([answer, ai("a", "x"), answer]);
  expect(messages.map(({ id }) => id)).toEqual(["a", "r"]);
  expect(repairs.map(({ kind }) => kind)).toEqual(["orphan-refused"]);
});

it("The id of a placeholder names the place of a message without an id in the given list", () => {
  const { messages } = repairHistory([ai("a", "c"), ai("", "d"), result("r", "c")]);
  expect(messages.map(({ id }) => id)).toEqual(["a", "r", "", "placeholder:1:0:unrecorded:d"]);
});
