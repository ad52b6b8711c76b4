import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../../src/history/call.js";
import { callsAnsweredAfter, flattenGroups, groupMessages } from "../../../src/history/group.js";
import { ai, human, placeholder, result, summary } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { titled } from "../../support/titled.js";

interface Case {
  readonly title: string;
  readonly messages: readonly BaseMessage[];
  /** Each group as head(results); `-` is a call without a result. */
  readonly groups: string;
  readonly orphans?: string;
  readonly duplicates?: string;
}

function draw(messages: readonly BaseMessage[]): string {
  return groupMessages(messages)
    .groups.map(({ head, results }) => `${head.id}(${results.map((one) => one?.id ?? "-").join()})`)
    .join(" ");
}

describe("A result answers the nearest message before it with a free call of its id", () => {
  it.each(
    titled<Case>([
      { title: "no message", messages: [], groups: "" },
      {
        title: "a message without calls is a separate group",
        messages: [human("h"), ai("a")],
        groups: "h() a()",
      },
      {
        title: "results in any order",
        messages: [ai("a", "c", "d"), result("td", "d"), result("tc", "c")],
        groups: "a(tc,td)",
      },
      {
        title: "a result after other messages",
        messages: [ai("a", "c"), human("h"), result("t", "c")],
        groups: "a(t) h()",
      },
      {
        title: "interleaved groups",
        messages: [ai("a", "c"), ai("b", "d"), result("tc", "c"), result("td", "d")],
        groups: "a(tc) b(td)",
      },
      {
        title: "a repeated id",
        messages: [ai("a", "c"), result("t1", "c"), ai("b", "c"), result("t2", "c")],
        groups: "a(t1) b(t2)",
      },
      {
        title: "a repeated id, the nearest call first",
        messages: [ai("a", "c"), ai("b", "c"), result("t1", "c"), result("t2", "c")],
        groups: "a(t2) b(t1)",
      },
      {
        title: "two calls of one id in one message, in call order",
        messages: [ai("a", "c", "d", "c"), result("t1", "c"), result("t2", "c")],
        groups: "a(t1,-,t2)",
      },
      {
        title: "an orphan before its call",
        messages: [result("t", "c"), ai("a", "c")],
        groups: "a(-)",
        orphans: "t",
      },
      {
        title: "the first of two real results stays",
        messages: [ai("a", "c"), result("t1", "c"), result("t2", "c")],
        groups: "a(t1)",
        duplicates: "t2",
      },
      {
        title: "a placeholder gives way to a real result",
        messages: [ai("a", "c"), placeholder("p", "c"), result("t", "c")],
        groups: "a(t)",
        duplicates: "p",
      },
      {
        title: "a placeholder never replaces a real result",
        messages: [ai("a", "c"), result("t", "c"), placeholder("p", "c")],
        groups: "a(t)",
        duplicates: "p",
      },
      {
        title: "the first of two placeholders stays",
        messages: [ai("a", "c"), placeholder("p1", "c"), placeholder("p2", "c")],
        groups: "a(p1)",
        duplicates: "p2",
      },
      {
        title: "a call that a summary archived",
        messages: [summary("s", { kind: "archive", messages: ["a"], calls: ["c", "d"] }), result("t", "d")],
        groups: "s(-,t)",
      },
    ]),
  )("%s", (_title, { messages, groups, orphans = "", duplicates = "" }) => {
    expect(draw(messages)).toBe(groups);
    const grouping = groupMessages(messages);
    expect(outline(grouping.orphans)).toBe(orphans);
    expect(outline(grouping.duplicates)).toBe(duplicates);
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
  expect(ids(summary("s", { kind: "archive", messages: [], calls: ["c"] }))).toEqual(["c"]);
  expect(ids(summary("s", { kind: "keep", messages: ["a"] }))).toEqual([]);
  expect(ids(ai("a", "c"))).toEqual(["c"]);
  expect(ids(human("h"))).toEqual([]);
});
