import { describe, expect, it } from "vitest";
import { flattenVisible, visibleHistory } from "../../../src/history/plan-summary.js";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import type { Coverage } from "../../../src/history/summary.js";
import { human, messagesIn, placeholder, result, summary } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

const keep = (...messages: string[]): Coverage => ({ kind: "keep", messages });
const archive = (messages: string[], calls: string[] = []): Coverage => ({
  kind: "archive",
  messages,
  calls,
  unanswered: calls,
});

/** A case in one line, as `messagesIn` reads it: `update / update => ids`. */
describe("The model is shown", () => {
  it.each(
    Object.entries({
      "everything if nothing is covered": " => sys h1 a1 t1 a2 h2",
      "a summary instead of the messages that it covers": "s[h1,a1,t1,a2] => sys s h2",
      "a system message, even if a summary names it": "s[sys,h1,a1,t1,a2] => sys s h2",
      "even if those were archived": "s[h1,a1,t1,a2|c] => sys s h2",
      "everything again once the summary is removed": "s[h1,a1,t1,a2] / -s => sys h1 a1 t1 a2 h2",
      "only the last summary if summaries cover one another": "s1[h1,a1,t1] / s2[s1,a2] => sys s2 h2",
      "the earlier summary again once the later one is removed":
        "s1[h1,a1,t1] / s2[s1,a2] / -s2 => sys s1 a2 h2",
      "messages of a kept summary stay covered when the next summary archives it":
        "s1[h1,a1,t1] / s2[h1,a1,t1,s1,a2|] => sys s2 h2",
      "an archived message stays covered if a client sends it again": "s[h1,a1,t1,a2|c] / h1 => sys s h2",
      "system messages in front": "sys2! => sys sys2 h1 a1 t1 a2 h2",
    }),
  )("%s", (_title, line) => {
    const [updates = "", expected] = line.split(" => ");
    let history = messagesIn("sys! h1 a1(c) t1:c a2() h2");
    for (const update of updates.split(" / ")) history = reduceMessages(history, messagesIn(update)).messages;
    expect(outline(flattenVisible(visibleHistory(history)))).toBe(expected);
  });
});

describe("A result that came after its call was covered", () => {
  it.each([
    ["kept", keep("h1", "a1", "a2")],
    ["archived", archive(["h1", "a1", "a2"], ["c"])],
  ])("is shown as text, with its call: %s", (_title, coverage) => {
    const { messages } = reduceMessages(messagesIn("h1 a1(c) a2() h2"), [
      summary("s", coverage),
      result("late", "c", "12 °C"),
    ]);
    const input = flattenVisible(visibleHistory(messages));
    expect(input.map(({ type }) => type)).toEqual(["human", "human", "human"]);
    expect(input[1]?.text).toContain("12 °C");
    expect(input[1]?.text).toContain("(c)");
    // The same object each time, so its tokens are counted once.
    expect(flattenVisible(visibleHistory(messages))[1]).toBe(input[1]);
  });

  it("is not shown if it is only a placeholder", () => {
    const late = placeholder("p", "c");
    const { messages } = reduceMessages(messagesIn("h1 a1(c) a2() h2"), [
      summary("s", archive(["h1", "a1", "a2"], ["c"])),
      late,
    ]);
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
