import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, human, removal, result, summary, system } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { expectCase, type ReducerCase } from "../../support/reducer-case.js";
import { stateViolations } from "../../support/strict-check.js";
import { titled } from "../../support/titled.js";

describe("Rule 8: a summary is placed after the messages that it covers", () => {
  const thread = () => [
    system("sys"),
    human("h1"),
    ai("a1", "c"),
    result("t1", "c"),
    human("h2"),
    ai("a2", "d"),
  ];
  const covered = ["h1", "a1", "t1"];

  it.each(
    titled<ReducerCase>([
      {
        title: "after the last message that it covers",
        history: thread(),
        update: [summary("s", { kind: "keep", messages: covered })],
        expected: "sys h1 a1 t1 s h2 a2",
      },
      {
        title: "never between a call and its result",
        history: thread(),
        update: [summary("s", { kind: "keep", messages: ["a1"] })],
        expected: "sys h1 a1 t1 s h2 a2",
      },
      {
        title: "after the leading system messages if no covered message is in the history",
        history: thread(),
        update: [summary("s", { kind: "keep", messages: ["gone"] })],
        expected: "sys s h1 a1 t1 h2 a2",
      },
      {
        title: "and archived messages leave in the same step, but not those that another branch appended",
        history: thread(),
        update: [human("new"), summary("s", { kind: "archive", messages: covered, calls: ["c"] })],
        expected: "sys s h2 a2 new",
      },
      {
        title: "a result that arrived meanwhile for an archived call is kept after the summary",
        history: thread(),
        update: [summary("s", { kind: "archive", messages: ["h1", "a1"], calls: ["c"] })],
        expected: "sys s t1 h2 a2",
      },
      {
        title: "and moves to the next summary when that archives the first",
        history: [
          summary("s", { kind: "archive", messages: ["a"], calls: ["c"] }),
          result("t", "c"),
          human("h"),
        ],
        update: [summary("s2", { kind: "archive", messages: ["s"], calls: ["c"] })],
        expected: "s2 t h",
      },
      {
        title: "a result that it names leaves, although its call stays",
        history: thread(),
        update: [summary("s", { kind: "archive", messages: ["t1"], calls: [] })],
        expected: "sys h1 a1 s h2 a2",
      },
      {
        title: "removing a summary whose messages stay undoes it",
        history: thread(),
        update: [summary("s", { kind: "keep", messages: covered }), removal("s")],
        expected: "sys h1 a1 t1 h2 a2",
      },
    ]),
  )("%s", expectCase);

  it("archives once: written again, it does not remove messages that came back since", () => {
    const again = () => summary("s", { kind: "archive", messages: ["h1"], calls: [] });
    const { messages } = reduceMessages([human("h1"), human("h2")], [again(), human("h1")]);
    expect(outline(messages)).toBe("s h2 h1");
    expect(outline(reduceMessages(messages, messages).messages)).toBe("s h2 h1");
    expect(outline(reduceMessages(messages, [again()]).messages)).toBe("s h2 h1");
  });
});

describe("Rule 10: a state that is not in this form is brought into it first", () => {
  it.each(
    titled<ReducerCase>([
      {
        title: "a misplaced result is moved",
        history: [ai("a", "c"), human("h"), result("t", "c")],
        update: [],
        expected: "a t h",
        repairs: ["result-moved"],
      },
      {
        title: "an orphan is refused",
        history: [result("t", "c"), human("h")],
        update: [],
        expected: "h",
        repairs: ["orphan-refused"],
      },
      {
        title: "the first of two results stays",
        history: [ai("a", "c"), result("t1", "c"), result("t2", "c")],
        update: [human("h")],
        expected: "a t1 h",
        repairs: ["duplicate-refused"],
      },
      {
        title: "a removal in it is resolved",
        history: [human("h1"), human("h2"), removal("h1")],
        update: [],
        expected: "h2",
      },
    ]),
  )("%s", expectCase);

  it("a second message with a used id gets another id", () => {
    const { messages, repairs } = reduceMessages([human("h", "one"), human("h", "two")], []);
    expect(stateViolations(messages)).toEqual([]);
    expect(messages.map(({ content }) => content)).toEqual(["one", "two"]);
    expect(repairs).toMatchObject([{ kind: "id-derived", previousId: "h" }]);
  });

  it("an array that grew in place after the reducer returned it is read again", () => {
    const { messages } = reduceMessages([], [ai("a", "c"), human("h")]);
    messages.push(result("t", "c"));
    expect(outline(reduceMessages(messages, [human("h2")]).messages)).toBe("a t h h2");
  });

  it("plain objects in a stored list become messages", () => {
    const stored = JSON.parse(JSON.stringify([human("h"), ai("a", "c"), result("t", "c")]));
    expect(outline(reduceMessages(stored, [human("h2")]).messages)).toBe("h a t h2");
  });
});
