import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, human, result, summary } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { expectCase } from "../../support/reducer-case.js";
import { stateViolations } from "../../support/strict-check.js";

describe("Rule 8: a summary is placed after the messages that it covers", () => {
  it.each(
    Object.entries({
      "after the last message that it covers":
        "sys! h1 a1(c) t1:c h2 a2(d) | s[h1,a1,t1] => sys h1 a1 t1 s h2 a2",
      "never between a call and its result": "sys! h1 a1(c) t1:c h2 a2(d) | s[a1] => sys h1 a1 t1 s h2 a2",
      "after the leading system messages if no covered message is in the history":
        "sys! h1 a1(c) t1:c h2 a2(d) | s[gone] => sys s h1 a1 t1 h2 a2",
      "and archived messages leave in the same step, but not those that another branch appended":
        "sys! h1 a1(c) t1:c h2 a2(d) | new s[h1,a1,t1|c] => sys s h2 a2 new",
      "a result that arrived meanwhile for an archived call is kept after the summary":
        "sys! h1 a1(c) t1:c h2 a2(d) | s[h1,a1|c] => sys s t1 h2 a2",
      "and moves to the next summary when that archives the first": "s[a|c] t:c h | s2[s|c] => s2 t h",
      "a result that it names leaves, although its call stays":
        "sys! h1 a1(c) t1:c h2 a2(d) | s[t1|] => sys h1 a1 s h2 a2",
      "removing a summary whose messages stay undoes it":
        "sys! h1 a1(c) t1:c h2 a2(d) | s[h1,a1,t1] -s => sys h1 a1 t1 h2 a2",
    }),
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
    Object.entries({
      "a misplaced result is moved": "a(c) h t:c |  => a t h ! result-moved",
      "an orphan is refused": "t:c h |  => h ! orphan-refused",
      "the first of two results stays": "a(c) t1:c t2:c | h => a t1 h ! duplicate-refused",
      "a removal in it is resolved": "h1 h2 -h1 |  => h2",
    }),
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
