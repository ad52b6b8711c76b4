import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  HumanMessageChunk,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, human, removal, removeAll, result } from "../../support/make-messages.js";
import { outline, toPlainList } from "../../support/plain-messages.js";
import { expectCase, type ReducerCase } from "../../support/reducer-case.js";
import { stateViolations } from "../../support/strict-check.js";
import { titled } from "../../support/titled.js";

const reduce = (history: unknown, update: unknown): BaseMessage[] => reduceMessages(history, update).messages;

describe("Rule 1: it accepts what messagesStateReducer accepts", () => {
  it.each(
    titled<{ title: string; update: unknown; expected: [string, unknown][] }>([
      { title: "one message", update: human("h", "hi"), expected: [["human", "hi"]] },
      { title: "a string", update: "hi", expected: [["human", "hi"]] },
      {
        title: "a list of strings",
        update: ["hi", "ho"],
        expected: [
          ["human", "hi"],
          ["human", "ho"],
        ],
      },
      {
        title: "tuples",
        update: [
          ["ai", "hi"],
          ["system", "ho"],
        ],
        expected: [
          ["ai", "hi"],
          ["system", "ho"],
        ],
      },
      {
        title: "an object with a role",
        update: { role: "user", content: "hi" },
        expected: [["human", "hi"]],
      },
      { title: "an object with a type", update: [{ type: "ai", content: "hi" }], expected: [["ai", "hi"]] },
      { title: "a chunk", update: new HumanMessageChunk("hi"), expected: [["human", "hi"]] },
      { title: "nothing", update: undefined, expected: [] },
    ]),
  )("%s", (_title, { update, expected }) => {
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

  it("gives equal messages different ids", () => {
    const ids = reduce([], ["hi", "hi", removal("x"), "hi"]).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
  });

  it("treats a blank id as a missing one", () => {
    expect(reduce([], new HumanMessage({ content: "hi", id: "" }))[0]?.id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("Rule 2: it is a left fold", () => {
  it("so a removal applies to messages before it and not to later ones", () => {
    expect(outline(reduce([human("h1")], [human("h2"), removal("h1"), human("h1")]))).toBe("h2 h1");
  });

  it("so one update gives the same as one update for each message", () => {
    const update = [ai("a", "c1", "c2"), result("t2", "c2"), "hi", removal("a"), result("t1", "c1"), "hi"];
    const stepwise = update.reduce<BaseMessage[]>((state, value) => reduce(state, [value]), []);
    expect(toPlainList(stepwise)).toEqual(toPlainList(reduce([], update)));
  });
});

describe("Rule 4: a removal is resolved where it stands", () => {
  it.each(
    titled<ReducerCase>([
      { title: "a message", history: [human("h1"), human("h2")], update: [removal("h1")], expected: "h2" },
      {
        title: "an AI message together with its results",
        history: [human("h"), ai("a", "c1", "c2"), result("t1", "c1"), result("t2", "c2"), human("h2")],
        update: [removal("a")],
        expected: "h h2",
        repairs: ["result-removed", "result-removed"],
      },
      {
        title: "a result, after which its call can get another one",
        history: [ai("a", "c1", "c2"), result("t1", "c1"), result("t2", "c2"), human("h")],
        update: [removal("t1"), result("new", "c1")],
        expected: "a new t2 h",
      },
      {
        title: "an unknown id, which changes nothing",
        history: [human("h")],
        update: [removal("x")],
        expected: "h",
        repairs: ["removal-ignored"],
      },
      {
        title: "a message twice, as two branches can do",
        history: [human("h1"), human("h2")],
        update: [removal("h1"), removal("h1")],
        expected: "h2",
        repairs: ["removal-ignored"],
      },
      {
        title: "everything before it, in the history and in the update",
        history: [human("h1")],
        update: [human("h2"), removeAll(), human("h3")],
        expected: "h3",
      },
      { title: "everything in an empty history", history: [], update: [removeAll()], expected: "" },
    ]),
  )("%s", expectCase);

  it("keeps the array when a removal names an unknown id", () => {
    const history = [human("h")];
    expect(reduce(history, [removal("x")])).toBe(history);
  });
});

describe("Rule 5: a message whose id is in the history replaces that message in place", () => {
  const group = () => [ai("a", "c1", "c2"), result("t1", "c1"), result("t2", "c2"), human("h")];

  it.each(
    titled<ReducerCase>([
      { title: "a human message", history: group(), update: [human("h", "new")], expected: "a t1 t2 h" },
      {
        title: "an AI message with the same calls",
        history: group(),
        update: [ai("a", "c1", "c2")],
        expected: "a t1 t2 h",
      },
      {
        title: "one with its calls in another order",
        history: group(),
        update: [ai("a", "c2", "c1")],
        expected: "a t2 t1 h",
      },
      {
        title: "one without one of the calls, whose result is removed",
        history: group(),
        update: [ai("a", "c2")],
        expected: "a t2 h",
        repairs: ["result-removed"],
      },
      {
        title: "one that becomes a human message, and the results are removed",
        history: group(),
        update: [human("a")],
        expected: "a h",
        repairs: ["result-removed", "result-removed"],
      },
      {
        title: "a result, which moves out of the group and after it",
        history: group(),
        update: [human("t1")],
        expected: "a t2 t1 h",
      },
      {
        title: "the n-th call of an id keeps the result of the n-th call of that id",
        history: [ai("a", "c", "d", "c"), result("t1", "c"), result("t2", "d"), result("t3", "c")],
        update: [ai("a", "c", "c", "d")],
        expected: "a t1 t3 t2",
      },
    ]),
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
