import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { flattenVisible, visibleHistory } from "../../../src/history/plan-summary.js";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import type { Coverage } from "../../../src/history/summary.js";
import { ai, human, placeholder, removal, result, summary, system } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { titled } from "../../support/titled.js";

const keep = (...messages: string[]): Coverage => ({ kind: "keep", messages });
const archive = (messages: string[], calls: string[] = []): Coverage => ({
  kind: "archive",
  messages,
  calls,
  unanswered: calls,
});

const thread = () => [system("sys"), human("h1"), ai("a1", "c"), result("t1", "c"), ai("a2"), human("h2")];
const covered = ["h1", "a1", "t1", "a2"];

interface Case {
  readonly title: string;
  readonly updates: readonly (readonly BaseMessage[])[];
  readonly expected: string;
}

const shown = (updates: readonly (readonly BaseMessage[])[]) =>
  flattenVisible(
    visibleHistory(
      updates.reduce<readonly BaseMessage[]>(
        (history, update) => reduceMessages(history, update).messages,
        thread(),
      ),
    ),
  );

describe("The model is shown", () => {
  it.each(
    titled<Case>([
      { title: "everything if nothing is covered", updates: [], expected: "sys h1 a1 t1 a2 h2" },
      {
        title: "a summary instead of the messages that it covers",
        updates: [[summary("s", keep(...covered))]],
        expected: "sys s h2",
      },
      {
        title: "a system message, even if a summary names it",
        updates: [[summary("s", keep("sys", ...covered))]],
        expected: "sys s h2",
      },
      {
        title: "even if those were archived",
        updates: [[summary("s", archive(covered, ["c"]))]],
        expected: "sys s h2",
      },
      {
        title: "everything again once the summary is removed",
        updates: [[summary("s", keep(...covered))], [removal("s")]],
        expected: "sys h1 a1 t1 a2 h2",
      },
      {
        title: "only the last summary if summaries cover one another",
        updates: [[summary("s1", keep("h1", "a1", "t1"))], [summary("s2", keep("s1", "a2"))]],
        expected: "sys s2 h2",
      },
      {
        title: "the earlier summary again once the later one is removed",
        updates: [
          [summary("s1", keep("h1", "a1", "t1"))],
          [summary("s2", keep("s1", "a2"))],
          [removal("s2")],
        ],
        expected: "sys s1 a2 h2",
      },
      {
        title: "messages of a kept summary stay covered when the next summary archives it",
        updates: [
          [summary("s1", keep("h1", "a1", "t1"))],
          [summary("s2", archive(["h1", "a1", "t1", "s1", "a2"]))],
        ],
        expected: "sys s2 h2",
      },
      {
        title: "an archived message stays covered if a client sends it again",
        updates: [[summary("s", archive(covered, ["c"]))], [human("h1")]],
        expected: "sys s h2",
      },
      { title: "system messages in front", updates: [[system("sys2")]], expected: "sys sys2 h1 a1 t1 a2 h2" },
    ]),
  )("%s", (_title, { updates, expected }) => {
    expect(outline(shown(updates))).toBe(expected);
  });
});

describe("A result that came after its call was covered", () => {
  it.each([
    ["kept", keep("h1", "a1", "a2")],
    ["archived", archive(["h1", "a1", "a2"], ["c"])],
  ])("is shown as text, with its call: %s", (_title, coverage) => {
    const before = [human("h1"), ai("a1", "c"), ai("a2"), human("h2")];
    const { messages } = reduceMessages(before, [summary("s", coverage), result("late", "c", "12 °C")]);
    const input = flattenVisible(visibleHistory(messages));
    expect(input.map(({ type }) => type)).toEqual(["human", "human", "human"]);
    expect(input[1]?.text).toContain("12 °C");
    expect(input[1]?.text).toContain("(c)");
    // The same object each time, so its tokens are counted once.
    expect(flattenVisible(visibleHistory(messages))[1]).toBe(input[1]);
  });

  it("is not shown if it is only a placeholder", () => {
    const before = [human("h1"), ai("a1", "c"), ai("a2"), human("h2")];
    const late = placeholder("p", "c");
    const { messages } = reduceMessages(before, [summary("s", archive(["h1", "a1", "a2"], ["c"])), late]);
    expect(outline(flattenVisible(visibleHistory(messages)))).toBe("s h2");
  });
});

it("A late result that is changed in place is told as it is now, and otherwise by the same message", () => {
  const late = result("t1", "c");
  const history = [human("h1"), summary("s", archive(["a1"], ["c"])), late];
  const note = () =>
    flattenVisible(visibleHistory(history)).find(({ text }) => text.includes("after the summary"));
  const before = note();
  expect(note()).toBe(before);
  late.content = "19 °C";
  expect(note()?.text).toContain("19 °C");
});
