import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  HumanMessageChunk,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, human, removal, result } from "../../support/make-messages.js";
import { expectCase } from "../../support/reducer-case.js";
import { stateViolations } from "../../support/strict-check.js";

const reduce = (history: unknown, update: unknown): BaseMessage[] => reduceMessages(history, update).messages;

describe("Rule 1: it accepts what messagesStateReducer accepts", () => {
  it.each<[title: string, update: unknown, expected: [string, unknown][]]>([
    ["one message", human("h", "hi"), [["human", "hi"]]],
    ["a string", "hi", [["human", "hi"]]],
    [
      "a list of strings",
      ["hi", "ho"],
      [
        ["human", "hi"],
        ["human", "ho"],
      ],
    ],
    [
      "tuples",
      [
        ["ai", "hi"],
        ["system", "ho"],
      ],
      [
        ["ai", "hi"],
        ["system", "ho"],
      ],
    ],
    ["an object with a role", { role: "user", content: "hi" }, [["human", "hi"]]],
    ["an object with a type", [{ type: "ai", content: "hi" }], [["ai", "hi"]]],
    ["a chunk", new HumanMessageChunk("hi"), [["human", "hi"]]],
    ["nothing", undefined, []],
  ])("%s", (_title, update, expected) => {
    const { messages, repairs } = reduceMessages([], update);
    expect(messages.map(({ type, content }) => [type, content])).toEqual(expected);
    expect(stateViolations(messages)).toEqual([]);
    expect(repairs).toEqual([]);
  });

  it("stores a chunk as its non-chunk class", () => {
    const chunk = new AIMessageChunk({
      content: "",
      id: "a",
      tool_call_chunks: [{ type: "tool_call_chunk", id: "c", name: "f", args: "{}", index: 0 }],
    });
    const [message] = reduce([], chunk);
    expect(message?.constructor).toBe(AIMessage);
    expect(message).toMatchObject({ id: "a", tool_calls: [{ id: "c", name: "f", args: {} }] });
  });

  it("derives a missing id from what precedes the message and what it says", () => {
    const idOf = (history: BaseMessage[], text: string) => reduce(history, text).at(-1)?.id;
    const first = idOf([human("h1")], "hi");
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(idOf([human("h1")], "hi")).toBe(first);
    expect(idOf([human("h2")], "hi")).not.toBe(first);
    expect(idOf([human("h1")], "ho")).not.toBe(first);
  });

  it("treats a blank id as a missing one", () => {
    expect(reduce([], new HumanMessage({ content: "hi", id: "" }))[0]?.id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("Rule 4: a removal is resolved where it stands", () => {
  it.each(
    Object.entries({
      "a message": "h1 h2 | -h1 => h2",
      "an AI message together with its results":
        "h a(c1,c2) t1:c1 t2:c2 h2 | -a => h h2 ! result-removed result-removed",
      "a result, after which its call can get another one":
        "a(c1,c2) t1:c1 t2:c2 h | -t1 new:c1 => a new t2 h",
      "an unknown id, which changes nothing": "h | -x => h ! removal-ignored",
      "a message twice, as two branches can do": "h1 h2 | -h1 -h1 => h2 ! removal-ignored",
      "everything before it, in the history and in the update": "h1 | h2 -* h3 => h3",
      "everything in an empty history": " | -* => ",
    }),
  )("%s", expectCase);

  it("keeps the array when a removal names an unknown id", () => {
    const history = [human("h")];
    expect(reduce(history, [removal("x")])).toBe(history);
  });
});

describe("Rule 5: a message whose id is in the history replaces that message in place", () => {
  it.each(
    Object.entries({
      "a human message": "a(c1,c2) t1:c1 t2:c2 h | h~new => a t1 t2 h",
      "an AI message with the same calls": "a(c1,c2) t1:c1 t2:c2 h | a(c1,c2) => a t1 t2 h",
      "one with its calls in another order": "a(c1,c2) t1:c1 t2:c2 h | a(c2,c1) => a t2 t1 h",
      "one without one of the calls, whose result is removed":
        "a(c1,c2) t1:c1 t2:c2 h | a(c2) => a t2 h ! result-removed",
      "one that becomes a human message, and the results are removed":
        "a(c1,c2) t1:c1 t2:c2 h | a => a h ! result-removed result-removed",
      "a result, which moves out of the group and after it": "a(c1,c2) t1:c1 t2:c2 h | t1 => a t2 t1 h",
      "the n-th call of an id keeps the result of the n-th call of that id":
        "a(c,d,c) t1:c t2:d t3:c | a(c,c,d) => a t1 t3 t2",
    }),
  )("%s", expectCase);

  it("stores the new message", () => {
    expect(reduce([human("h", "old")], [human("h", "new")])[0]?.content).toBe("new");
  });

  it("reports a lost result with the complete message", () => {
    const lost = result("t1", "c1");
    const { repairs } = reduceMessages([ai("a", "c1"), lost], [ai("a")]);
    expect(repairs).toEqual([{ kind: "result-removed", message: lost, key: "result-removed:t1" }]);
  });
});
