import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../src/history/call.js";
import { callsAnsweredAfter, flattenGroups, groupMessages } from "../../src/history/group.js";
import { ai, human, messagesIn, result, summary } from "../support/make-messages.js";
import { outline } from "../support/plain-messages.js";

/** Each group as head(results); `-` is a call without a result. */
function draw(messages: readonly BaseMessage[]): string {
  return groupMessages(messages)
    .groups.map(({ head, results }) => `${head.id}(${results.map((one) => one?.id ?? "-").join()})`)
    .join(" ");
}

describe("A result answers the nearest message before it with a free call of its id", () => {
  it.each(
    Object.entries({
      "no message": " => ",
      "a message without calls is a separate group": "h a() => h() a()",
      "results in any order": "a(c,d) td:d tc:c => a(tc,td)",
      "a result after other messages": "a(c) h t:c => a(t) h()",
      "interleaved groups": "a(c) b(d) tc:c td:d => a(tc) b(td)",
      "a repeated id": "a(c) t1:c b(c) t2:c => a(t1) b(t2)",
      "a repeated id, the nearest call first": "a(c) b(c) t1:c t2:c => a(t2) b(t1)",
      "two calls of one id in one message, in call order": "a(c,d,c) t1:c t2:c => a(t1,-,t2)",
      "an orphan before its call": "t:c a(c) => a(-) ! orphan t",
      "the first of two real results stays": "a(c) t1:c t2:c => a(t1) ! duplicate t2",
      "a placeholder gives way to a real result": "a(c) p?c t:c => a(t) ! duplicate p",
      "a placeholder never replaces a real result": "a(c) t:c p?c => a(t) ! duplicate p",
      "the first of two placeholders stays": "a(c) p1?c p2?c => a(p1) ! duplicate p2",
      "a call that a summary archived": "s[a|c,d] t:d => s(-,t)",
    }),
  )("%s", (_title, line) => {
    const [given = "", outcome = ""] = line.split(" => ");
    const [groups, rest = ""] = outcome.split(" ! ");
    const messages = messagesIn(given);
    expect(draw(messages)).toBe(groups);
    const { orphans, duplicates } = groupMessages(messages);
    const left = [
      ...orphans.map(({ id }) => `orphan ${id}`),
      ...duplicates.map(({ id }) => `duplicate ${id}`),
    ];
    expect(left.join()).toBe(rest);
  });
});

describe("A group says where it is", () => {
  it("from its head to just after its last result", () => {
    const { groups } = groupMessages([human("h"), ai("a", "c"), human("h2"), result("t", "c"), human("h3")]);
    expect(groups.map(({ head, start, end }) => [head.id, start, end])).toEqual([
      ["h", 0, 1],
      ["a", 1, 4],
      ["h2", 2, 3],
      ["h3", 4, 5],
    ]);
  });

  it("and has its calls", () => {
    const message = ai("a", "c");
    expect(groupMessages([message]).groups[0]?.calls).toEqual(callsOf(message));
  });
});

it("The caller can say which calls a message opens", () => {
  const { groups, orphans } = groupMessages([ai("a", "c"), result("t", "c")], () => []);
  expect(groups.map(({ calls }) => calls)).toEqual([[]]);
  expect(outline(orphans)).toBe("t");
});

it("Flattened groups are the ordered list", () => {
  const { groups } = groupMessages([ai("a", "c", "d"), human("h"), result("td", "d"), result("tc", "c")]);
  expect(outline(flattenGroups(groups))).toBe("a tc td h");
});

it("A summary is followed only by results of the calls that it archived", () => {
  const ids = (message: BaseMessage) => callsAnsweredAfter(message).map(({ id }) => id);
  expect(ids(summary("s", { kind: "archive", checkpoint: "c", messages: [], calls: ["c"] }))).toEqual(["c"]);
  expect(ids(summary("s", { kind: "keep", messages: ["a"] }))).toEqual([]);
  expect(ids(ai("a", "c"))).toEqual(["c"]);
  expect(ids(human("h"))).toEqual([]);
});
