import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, human, placeholder, result } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { expectCase } from "../../support/reducer-case.js";

describe("Rule 6: a result is placed directly after its message, in call order", () => {
  it.each(
    Object.entries({
      "even if it is late": "h a(c) h2 a2() | t:c => h a t h2 a2",
      "in any order of arrival": "a(c1,c2,c3) | t3:c3 t1:c1 t2:c2 => a t1 t2 t3",
      "after the nearest message with a call of its id without a result":
        "a1(c) h a2(c) h2 | t2:c t1:c => a1 t1 h a2 t2 h2",
      "at the first of two calls of one id in one message": "a(c,d,c) | t1:c t2:c td:d => a t1 td t2",
      "at its own place if its message id is in the history, even if another call of its id is nearer":
        "a1(c) t:c h a2(c) | t:c~new => a1 t h a2",
      "in place of the nearest earlier result if no call of its id is free":
        "a1(c) t1:c a2(c) t2:c | t3:c => a1 t1 a2 t3 ! result-replaced",
      "in place of the first such result if a message has the id twice":
        "a(c,c) t1:c t2:c | t3:c => a t3 t2 ! result-replaced",
      "at a call whose result was removed in the same update, after all of its id were taken":
        "a1(c) h a2(c) | t1:c t2:c t3:c -t2 t4:c => a1 t4 h a2 t3 ! result-replaced",
      "at the call that it names now, if it has the message id of another call's result":
        "a(c,d) t:c h | t:d => a t h",
      "once, if it is written again for another call and a result before it moved in the same update":
        "a(c,d,d) r:d s:d | r:c s:c => a s ! result-replaced",
      "at its call, if it has the message id of a message that is not a result, which it replaces":
        "a(c) h b(d) td:d | b:c => a b h ! result-removed",
      "nowhere, if the only call of its id is in the message that it would replace":
        "a(c) h | a:c => a h ! orphan-refused",
    }),
  )("%s", expectCase);
});

describe("Rule 6: a placeholder gives way to a real result, and never replaces one", () => {
  it.each(
    Object.entries({
      "a late result replaces the placeholder of its call in place":
        "a(c1,c2) p?c1 t2:c2 h | t1:c1 => a t1 t2 h ! placeholder-replaced",
      "a placeholder for an answered call is dropped": "a(c) t:c | p?c => a t ! placeholder-refused",
      "a placeholder with the message id of a real result is dropped":
        "a(c) t:c | t?c => a t ! placeholder-refused",
      "a placeholder replaces a placeholder": "a(c) p?c | p2?c => a p2 ! result-replaced",
      "a placeholder goes to an earlier free call before it replaces a placeholder":
        "a1(c) h a2(c) p?c | p2?c => a1 p2 h a2 p",
      "a call with only a placeholder counts as free, and comes before an earlier one":
        "a1(c) h a2(c) p?c | t:c => a1 h a2 t ! placeholder-replaced",
      "an earlier free call comes before a nearer taken one": "a1(c) h a2(c) t2:c | t1:c => a1 t1 h a2 t2",
    }),
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
    Object.entries({
      "but a call that an archived summary covers counts: its result is kept after the summary":
        "s[a|c] h | t:c => s t h",
      "and a call that the summary does not name does not count": "s[a|c] h | t:d => s h ! orphan-refused",
      "a summary whose messages stay opens no calls": "a(c) s[a] h | t:c => a t s h",
    }),
  )("%s", expectCase);
});
