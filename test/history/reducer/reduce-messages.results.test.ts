import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, human, placeholder, removal, result, summary } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { expectCase, type ReducerCase } from "../../support/reducer-case.js";
import { titled } from "../../support/titled.js";

describe("Rule 6: a result is placed directly after its message, in call order", () => {
  it.each(
    titled<ReducerCase>([
      {
        title: "even if it is late",
        history: [human("h"), ai("a", "c"), human("h2"), ai("a2")],
        update: [result("t", "c")],
        expected: "h a t h2 a2",
      },
      {
        title: "in any order of arrival",
        history: [ai("a", "c1", "c2", "c3")],
        update: [result("t3", "c3"), result("t1", "c1"), result("t2", "c2")],
        expected: "a t1 t2 t3",
      },
      {
        title: "after the nearest message with a call of its id without a result",
        history: [ai("a1", "c"), human("h"), ai("a2", "c"), human("h2")],
        update: [result("t2", "c"), result("t1", "c")],
        expected: "a1 t1 h a2 t2 h2",
      },
      {
        title: "at the first of two calls of one id in one message",
        history: [ai("a", "c", "d", "c")],
        update: [result("t1", "c"), result("t2", "c"), result("td", "d")],
        expected: "a t1 td t2",
      },
      {
        title:
          "at its own place if its message id is in the history, even if another call of its id is nearer",
        history: [ai("a1", "c"), result("t", "c"), human("h"), ai("a2", "c")],
        update: [result("t", "c", "new")],
        expected: "a1 t h a2",
      },
      {
        title: "in place of the nearest earlier result if no call of its id is free",
        history: [ai("a1", "c"), result("t1", "c"), ai("a2", "c"), result("t2", "c")],
        update: [result("t3", "c")],
        expected: "a1 t1 a2 t3",
        repairs: ["result-replaced"],
      },
      {
        title: "in place of the first such result if a message has the id twice",
        history: [ai("a", "c", "c"), result("t1", "c"), result("t2", "c")],
        update: [result("t3", "c")],
        expected: "a t3 t2",
        repairs: ["result-replaced"],
      },
      {
        title: "at a call whose result was removed in the same update, after all of its id were taken",
        history: [ai("a1", "c"), human("h"), ai("a2", "c")],
        update: [result("t1", "c"), result("t2", "c"), result("t3", "c"), removal("t2"), result("t4", "c")],
        expected: "a1 t4 h a2 t3",
        repairs: ["result-replaced"],
      },
      {
        title: "at the call that it names now, if it has the message id of another call's result",
        history: [ai("a", "c", "d"), result("t", "c"), human("h")],
        update: [result("t", "d")],
        expected: "a t h",
      },
      {
        title: "at its call, if it has the message id of a message that is not a result, which it replaces",
        history: [ai("a", "c"), human("h"), ai("b", "d"), result("td", "d")],
        update: [result("b", "c")],
        expected: "a b h",
        repairs: ["result-removed"],
      },
      {
        title: "nowhere, if the only call of its id is in the message that it would replace",
        history: [ai("a", "c"), human("h")],
        update: [result("a", "c")],
        expected: "a h",
        repairs: ["orphan-refused"],
      },
    ]),
  )("%s", expectCase);
});

describe("Rule 6: a placeholder gives way to a real result, and never replaces one", () => {
  it.each(
    titled<ReducerCase>([
      {
        title: "a late result replaces the placeholder of its call in place",
        history: [ai("a", "c1", "c2"), placeholder("p", "c1"), result("t2", "c2"), human("h")],
        update: [result("t1", "c1")],
        expected: "a t1 t2 h",
        repairs: ["placeholder-replaced"],
      },
      {
        title: "a placeholder for an answered call is dropped",
        history: [ai("a", "c"), result("t", "c")],
        update: [placeholder("p", "c")],
        expected: "a t",
        repairs: ["placeholder-refused"],
      },
      {
        title: "a placeholder with the message id of a real result is dropped",
        history: [ai("a", "c"), result("t", "c")],
        update: [placeholder("t", "c")],
        expected: "a t",
        repairs: ["placeholder-refused"],
      },
      {
        title: "a placeholder replaces a placeholder",
        history: [ai("a", "c"), placeholder("p", "c")],
        update: [placeholder("p2", "c")],
        expected: "a p2",
        repairs: ["result-replaced"],
      },
      {
        title: "a placeholder goes to an earlier free call before it replaces a placeholder",
        history: [ai("a1", "c"), human("h"), ai("a2", "c"), placeholder("p", "c")],
        update: [placeholder("p2", "c")],
        expected: "a1 p2 h a2 p",
      },
      {
        title: "a call with only a placeholder counts as free, and comes before an earlier one",
        history: [ai("a1", "c"), human("h"), ai("a2", "c"), placeholder("p", "c")],
        update: [result("t", "c")],
        expected: "a1 h a2 t",
        repairs: ["placeholder-replaced"],
      },
      {
        title: "an earlier free call comes before a nearer taken one",
        history: [ai("a1", "c"), human("h"), ai("a2", "c"), result("t2", "c")],
        update: [result("t1", "c")],
        expected: "a1 t1 h a2 t2",
      },
    ]),
  )("%s", expectCase);

  it("has both messages in the repair", () => {
    const [former, by] = [placeholder("p", "c"), result("t", "c")];
    const { repairs } = reduceMessages([ai("a", "c"), former], [by]);
    expect(repairs).toEqual([
      { kind: "placeholder-replaced", message: former, by, key: "placeholder-replaced:p" },
    ]);
  });
});

describe("Rule 7: a result without a call before it is refused and reported", () => {
  it("even if its call comes later, with the complete message", () => {
    const early = result("t", "c");
    const { messages, repairs } = reduceMessages([human("h")], [early, ai("a", "c")]);
    expect(outline(messages)).toBe("h a");
    expect(repairs).toEqual([{ kind: "orphan-refused", message: early, key: "orphan-refused:t" }]);
  });

  it("with keys that distinguish two orphans, even if their ids are blank", () => {
    const { repairs } = reduceMessages([], [result("", "c", "one"), result("", "d", "two")]);
    expect(new Set(repairs.map(({ key }) => key)).size).toBe(2);
  });

  it.each(
    titled<ReducerCase>([
      {
        title: "but a call that an archived summary covers counts: its result is kept after the summary",
        history: [summary("s", { kind: "archive", messages: ["a"], calls: ["c"] }), human("h")],
        update: [result("t", "c")],
        expected: "s t h",
      },
      {
        title: "and a call that the summary does not name does not count",
        history: [summary("s", { kind: "archive", messages: ["a"], calls: ["c"] }), human("h")],
        update: [result("t", "d")],
        expected: "s h",
        repairs: ["orphan-refused"],
      },
      {
        title: "a summary whose messages stay opens no calls",
        history: [ai("a", "c"), summary("s", { kind: "keep", messages: ["a"] }), human("h")],
        update: [result("t", "c")],
        expected: "a t s h",
      },
    ]),
  )("%s", expectCase);
});
