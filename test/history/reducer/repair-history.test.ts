import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import type { RepairKind } from "../../../src/history/reducer/repair.js";
import { repairHistory } from "../../../src/history/reducer/repair-history.js";
import { ai, human, placeholder, removal, removeAll, result, system } from "../../support/make-messages.js";
import { toPlainList } from "../../support/plain-messages.js";
import { strictViolations } from "../../support/strict-check.js";
import { titled } from "../../support/titled.js";

interface Case {
  readonly title: string;
  readonly messages: readonly unknown[];
  /** Ids. An added placeholder is `+` and the id of its call. */
  readonly expected: string;
  readonly repairs: readonly RepairKind[];
}

function draw(given: readonly unknown[], messages: readonly BaseMessage[]): string {
  const isNew = (message: BaseMessage) => !given.some((one) => Object(one).id === message.id);
  return messages
    .map((message) => (isNew(message) ? `+${Reflect.get(message, "tool_call_id")}` : message.id))
    .join(" ");
}

describe("A list is repaired", () => {
  it.each(
    titled<Case>([
      {
        title: "by closing a dangling call",
        messages: [human("h"), ai("a", "c"), human("h2")],
        expected: "h a +c h2",
        repairs: ["call-closed"],
      },
      {
        title: "by closing the calls of the last group too, because a strict check requires it",
        messages: [human("h"), ai("a", "c", "d"), result("td", "d")],
        expected: "h a +c td",
        repairs: ["call-closed"],
      },
      {
        title: "by closing each of two calls of one id",
        messages: [ai("a", "c", "c"), result("t", "c"), human("h")],
        expected: "a t +c h",
        repairs: ["call-closed"],
      },
      {
        title: "by moving a result to its call",
        messages: [ai("a", "c"), human("h"), result("t", "c")],
        expected: "a t h",
        repairs: ["result-moved"],
      },
      {
        title: "by putting results in call order",
        messages: [ai("a", "c", "d"), result("td", "d"), result("tc", "c")],
        expected: "a tc td",
        repairs: ["result-moved", "result-moved"],
      },
      {
        title: "by dropping an orphan",
        messages: [result("t", "c"), human("h")],
        expected: "h",
        repairs: ["orphan-refused"],
      },
      {
        title: "by dropping the second result of a call",
        messages: [ai("a", "c"), result("t1", "c"), result("t2", "c"), human("h")],
        expected: "a t1 h",
        repairs: ["duplicate-refused"],
      },
      {
        title: "by dropping a placeholder if a real result came later",
        messages: [ai("a", "c"), placeholder("p", "c"), human("h"), result("t", "c")],
        expected: "a t h",
        repairs: ["duplicate-refused", "result-moved"],
      },
      {
        title: "by occurrence, if an id repeats",
        messages: [ai("a", "c"), result("t", "c"), human("h"), ai("b", "c"), human("h2")],
        expected: "a t h b +c h2",
        repairs: ["call-closed"],
      },
      {
        title: "by resolving removals",
        messages: [human("h1"), removeAll(), human("h2"), human("h3"), removal("h2")],
        expected: "h3",
        repairs: [],
      },
      {
        title: "by dropping values that are not messages",
        messages: [null, human("h"), { content: "hi" }],
        expected: "h",
        repairs: ["value-refused", "value-refused"],
      },
    ]),
  )("%s", (_title, { messages, expected, repairs }) => {
    const repaired = repairHistory(messages);
    expect(draw(messages, repaired.messages)).toBe(expected);
    expect(repaired.repairs.map(({ kind }) => kind)).toEqual(repairs);
    expect(strictViolations(repaired.messages)).toEqual([]);
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
    titled<{ title: string; messages: BaseMessage[] }>([
      { title: "an empty list", messages: [] },
      { title: "one without calls", messages: [system("s"), human("h"), ai("a")] },
      {
        title: "one with groups",
        messages: [ai("a", "c", "d"), result("tc", "c"), result("td", "d"), human("h")],
      },
      {
        title: "one with a repeated id",
        messages: [ai("a", "c"), result("t", "c"), ai("b", "c"), result("t2", "c")],
      },
      {
        title: "one with two calls of one id: the first has a placeholder, the second a result",
        messages: [ai("a", "c", "c"), placeholder("p", "c"), result("t", "c"), human("h")],
      },
      {
        title: "one with an invalid call",
        messages: [
          new AIMessage({ id: "a", content: "", invalid_tool_calls: [{ id: "c", name: "t", args: "{" }] }),
          result("t", "c"),
        ],
      },
      {
        title: "one with calls that are only in the content",
        messages: [
          new AIMessage({ id: "a", content: [{ type: "tool_use", id: "c", name: "t", input: {} }] }),
          result("t", "c"),
        ],
      },
      { title: "one with a chunk", messages: [new AIMessageChunk("hi")] },
      { title: "one without ids", messages: [new HumanMessage("hi"), new HumanMessage("hi")] },
    ]),
  )("%s", (_title, { messages }) => {
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
    titled<{ title: string; messages: BaseMessage[]; text: string }>([
      {
        title: "a new message came",
        messages: [ai("a", "c"), human("h")],
        text: "Tool call tool_c (c): a new message came before it finished. It may or may not have taken effect.",
      },
      {
        title: "the model went on without it",
        messages: [ai("a", "c"), ai("b")],
        text: "Tool call tool_c (c): no result was recorded for it. It may or may not have taken effect.",
      },
      {
        title: "the list ends there",
        messages: [ai("a", "c")],
        text: "Tool call tool_c (c): no result was recorded for it. It may or may not have taken effect.",
      },
      {
        title: "the arguments could not be parsed",
        messages: [invalid, human("h")],
        text: "Tool call search (c): its arguments were not valid JSON, so it was not run.",
      },
    ]),
  )("%s", (_title, { messages, text }) => {
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

  it.each(
    titled<{ title: string; messages: unknown[] }>([
      { title: "for a list with holes", messages: new Array(2) },
      { title: "for an object that cannot be read", messages: [new Proxy({}, { get: refuse, has: refuse })] },
      {
        title: "for a message whose calls cannot be read",
        messages: [Object.defineProperty(new AIMessage("hi"), "tool_calls", { get: refuse })],
      },
    ]),
  )("%s", (_title, { messages }) => {
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
