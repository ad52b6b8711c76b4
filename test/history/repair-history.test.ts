/** The repair of a list, and how a history is written anew. `repair-laws` has the laws. */

import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { rewriteHistory } from "../../src/history/reducer/rewrite-history.js";
import { build, type Entry, entries, messageEntries } from "../support/arbitraries.js";
import { BROKEN_HISTORIES } from "../support/broken-histories.js";
import { ai, human, messagesIn, result } from "../support/make-messages.js";
import { outline, toPlainList } from "../support/plain-messages.js";
import { strictViolations } from "../support/strict-check.js";
import { runs, titled } from "../support/test-tools.js";

const kindsOf = ({ repairs }: ReturnType<typeof repairHistory>) => repairs.map(({ kind }) => kind);

/** Ids, and of each added placeholder what `placeholderOf` tells. */
function draw(
  given: readonly unknown[],
  messages: readonly BaseMessage[],
  placeholderOf: (message: BaseMessage) => string,
): string[] {
  const isNew = (message: BaseMessage) => !given.some((one) => Object(one).id === message.id);
  return messages.map((message) => (isNew(message) ? placeholderOf(message) : (message.id ?? "")));
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
    const drawn = draw(messages, repaired.messages, (one) => `+${Reflect.get(one, "tool_call_id")}`);
    expect(drawn.join(" ")).toBe(expected);
    expect(kindsOf(repaired)).toEqual(kinds?.split(" ") ?? []);
    expect(strictViolations(repaired.messages)).toEqual([]);
  });

  it.each(titled(BROKEN_HISTORIES))("of a public report: %s", (_title, { messages, repaired }) => {
    const before = strictViolations(messages);
    const { messages: after, repairs } = repairHistory(messages);
    const drawn = draw(
      messages,
      after,
      (one) => `${Reflect.get(one, "tool_call_id")}: ${one.additional_kwargs["tether_placeholder"]}`,
    );
    expect(drawn).toEqual(repaired);
    expect(strictViolations(after)).toEqual([]);
    expect(repairs.length > 0).toBe(before.length > 0);
    const carried = repairs.flatMap((repair) => ("message" in repair ? [repair.message.id] : []));
    const kept = after.map(({ id }) => id);
    for (const { id } of messages) expect([...kept, ...carried]).toContain(id);
  });

  it("by dropping values that are not messages, and reading plain objects", () => {
    const repaired = repairHistory([null, "hi", { content: "hi" }, { role: "assistant", content: "ho" }]);
    expect(repaired.messages.map(({ type, content }) => `${type} ${content}`)).toEqual(["human hi", "ai ho"]);
    expect(kindsOf(repaired)).toEqual(["value-refused", "value-refused"]);
  });
});

const invalid = new AIMessage({
  content: "",
  id: "a",
  invalid_tool_calls: [{ id: "c", name: "search", args: "{" }],
});

describe("A sound list is returned as the same array", () => {
  it.each(
    Object.entries<BaseMessage[]>({
      "an empty list": [],
      "one without calls": messagesIn("s! h a()"),
      "one with groups": messagesIn("a(c,d) tc:c td:d h"),
      "one with a repeated id": messagesIn("a(c) t:c b(c) t2:c"),
      "one with two calls of one id: the first has a placeholder, the second a result":
        messagesIn("a(c,c) p?c t:c h"),
      "one with an invalid call": [invalid, result("t", "c")],
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

describe("A placeholder", () => {
  const unrecorded = "no result was recorded for it. It may or may not have taken effect.";
  const superseded = "a new message came before it finished. It may or may not have taken effect.";

  it.each<[title: string, messages: BaseMessage[], text: string]>([
    ["a new message came", messagesIn("a(c) h"), `Tool call tool_c (c): ${superseded}`],
    ["the model went on without it", messagesIn("a(c) b()"), `Tool call tool_c (c): ${unrecorded}`],
    ["the list ends there", messagesIn("a(c)"), `Tool call tool_c (c): ${unrecorded}`],
    [
      "the arguments could not be parsed",
      [invalid, human("h")],
      "Tool call search (c): its arguments were not valid JSON, so it was not run.",
    ],
  ])("says why, as far as that is known: %s", (_title, messages, text) => {
    const [added] = repairHistory(messages).messages.slice(1);
    expect(added).toMatchObject({ type: "tool", content: text, status: "error" });
  });

  it("has an id that is saved with it", async () => {
    const serializer = new JsonPlusSerializer();
    const { messages } = repairHistory(messagesIn("h a(c) h2"));
    const loaded = await serializer.loadsTyped(...(await serializer.dumpsTyped(messages)));
    expect(toPlainList(loaded)).toEqual(toPlainList(messages));
  });

  it("has a unique id, even in a list without ids", () => {
    const open = () => new AIMessage({ content: "", tool_calls: [{ id: "c", name: "search", args: {} }] });
    const { messages } = repairHistory([open(), new HumanMessage("hi"), open(), new HumanMessage("hi")]);
    const ids = messages.filter(({ type }) => type === "tool").map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });

  it("has an id that names the place of a message without an id in the given list", () => {
    const { messages } = repairHistory([ai("a", "c"), ai("", "d"), result("r", "c")]);
    expect(messages.map(({ id }) => id)).toEqual(["a", "r", "", "placeholder:1:0:unrecorded:d"]);
  });
});

describe("What was done is reported", () => {
  it("with the complete message, and the call that was closed", () => {
    const orphan = result("t", "c");
    expect(repairHistory([orphan]).repairs).toEqual([
      { kind: "orphan-refused", message: orphan, key: "orphan-refused:t" },
    ]);
    const { messages, repairs } = repairHistory([ai("a", "c")]);
    const call = { id: "c", name: "tool_c", kind: "valid" };
    expect(repairs).toMatchObject([{ kind: "call-closed", call }]);
    expect(repairs[0]).toHaveProperty("message", messages[1]);
  });

  const twice = result("t", "c");
  it.each([
    ["twice in its group", [ai("a", "c"), twice, twice, human("h")], "a t h", "duplicate-refused"],
    ["at its call and at another place", [twice, ai("a", "c"), twice], "a t", "orphan-refused"],
  ])(
    "and nothing else: no result is moved if a list contains one result object %s",
    (_title, list, ids, kind) => {
      const repaired = repairHistory(list);
      expect(outline(repaired.messages)).toBe(ids);
      expect(kindsOf(repaired)).toEqual([kind]);
    },
  );
});

describe("It never throws", () => {
  const refuse = () => {
    throw new Error("Not to be read");
  };

  it.each<[title: string, messages: unknown[]]>([
    ["a list with holes", new Array(2)],
    ["an object that cannot be read", [new Proxy({}, { get: refuse, has: refuse })]],
    [
      "a message whose calls cannot be read",
      [Object.defineProperty(new AIMessage("hi"), "tool_calls", { get: refuse })],
    ],
  ])("for %s", (_title, messages) => {
    expect(() => repairHistory(messages)).not.toThrow();
  });
});

describe("A rewritten history is the same as before", () => {
  const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

  it.each(
    Object.entries({
      "if every call has a result": "a(c,d) r:c s:d",
      "with an open call before a call of the same id that has a result": "a(c,d,c) r:d s:c h",
      "with a placeholder before a result for another call of its id": "a(c,c,d) p?c r:c h",
      "with an open call, a placeholder and a result of one id": "a(c,d,c,c) r:d p?c s:c",
    }),
  )("%s", (_title, line) => {
    const history = messagesIn(line);
    const messages = reduce(messagesIn("before"), rewriteHistory(history));
    expect(toPlainList(messages)).toEqual(toPlainList(history));
  });

  it("in any thread", () => {
    const hasNoSummary = (list: readonly Entry[]) => list.every(({ kind }) => kind !== "summary");
    const written = entries().filter(hasNoSummary).map(build);
    const stored = messageEntries().filter(hasNoSummary).map(build);
    const law = fc.property(stored, written, (list, update) => {
      const history = reduce(list, update);
      const again = reduce(reduce([], update), rewriteHistory(history));
      expect(toPlainList(again)).toEqual(toPlainList(history));
    });
    fc.assert(law, runs(300));
  });
});
