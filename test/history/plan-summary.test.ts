/** How long an input is, which messages a summary covers, and what the model is shown then. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { measureInput } from "../../src/history/measure.js";
import { isSummaryDue, planSummary } from "../../src/history/plan-summary.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { flattenVisible, visibleHistory } from "../../src/history/visible-history.js";
import { aiOf, humanOf, policyOf, stepOf, tokensOf, turnsOf } from "../support/long-histories.js";
import { ai, messagesIn, placeholder, removal, result, summary, system } from "../support/make-messages.js";
import { outline } from "../support/plain-messages.js";

const reduce = (history: unknown, update: unknown) => reduceMessages(history, update).messages;

function answered(id: string, input_tokens: number, output_tokens: number): AIMessage {
  const total_tokens = input_tokens + output_tokens;
  return Object.assign(new AIMessage({ id, content: "fine" }), {
    usage_metadata: { input_tokens, output_tokens, total_tokens },
  });
}

/** The length of a request that has this many tokens besides its messages. */
const lengthOf = (messages: readonly BaseMessage[], promptTokens = 0) =>
  measureInput(messages, { promptTokens, toolTokens: 0, maxToolCalls: undefined }).tokens;

describe("An input is as long", () => {
  const since = [humanOf("h9", 30)];

  it.each<[title: string, history: readonly BaseMessage[], promptTokens: number, expected: number]>([
    ["as the estimate of its messages", turnsOf(3), 0, tokensOf(turnsOf(3))],
    ["as that and the other parts of a request", turnsOf(3), 250, tokensOf(turnsOf(3)) + 250],
    ["as the other parts alone", [], 7, 7],
    [
      // The provider's number includes the prompt and the schemas.
      "as the provider reported with its last response, and the messages since",
      [...turnsOf(3), answered("u", 250 + tokensOf(turnsOf(3)), 50), ...since],
      250,
      300 + tokensOf([...turnsOf(3), ...since]),
    ],
    [
      "as the last of several responses reported",
      [answered("u1", 100, 0), humanOf("h"), answered("u2", 700, 10)],
      0,
      710,
    ],
    ...[0, Number.NaN].map((tokens): [string, BaseMessage[], number, number] => {
      const history = [humanOf("h"), answered("u", tokens, 5)];
      return [`as the estimate if the provider reported ${tokens}`, history, 0, tokensOf(history)];
    }),
  ])("%s", (_title, history, promptTokens, expected) => {
    expect(lengthOf(history, promptTokens)).toBe(expected);
  });
});

describe("After a summary", () => {
  const summaryOf = (messages: readonly BaseMessage[], asOf: string) =>
    summary("s", { kind: "keep", messages: messages.map(({ id }) => id ?? ""), asOf });
  const old = [...turnsOf(5, 100), answered("u", 5000, 10)];
  const history = reduce([...old, humanOf("h9")], [summaryOf(old, "h9")]);
  const shorter = reduce(history, [answered("u2", 60, 5)]);

  it("numbers reported for the longer input no longer count, but those for the shorter input do", () => {
    expect(lengthOf(history, 10)).toBe(10 + tokensOf([humanOf("h9"), summaryOf([], "h9")]));
    expect(lengthOf(shorter, 10)).toBe(65);
  });

  it("the longer input counts again once the summary is removed", () => {
    const after = reduce(shorter, [removal("s")]);
    expect(lengthOf(after)).toBeGreaterThanOrEqual(tokensOf(after) * 0.9);
  });

  it("a late result of a covered call counts, because it is shown", () => {
    const covered = [ai("x", "c"), aiOf("a")];
    const before = reduce([...covered, humanOf("h")], [summaryOf(covered, "h")]);
    const after = reduce(before, [result("t", "c", "x".repeat(4000))]);
    expect(lengthOf(after) - lengthOf(before)).toBeGreaterThan(1000);
  });
});

describe("A summary is due", () => {
  const history = turnsOf(10);
  const tokens = tokensOf(history);

  it.each([
    ["if the input has more tokens than the limit", { maxTokensBeforeSummary: tokens - 1 }, true],
    ["not if it has exactly that many tokens", { maxTokensBeforeSummary: tokens }, false],
    ["with the system prompt", { maxTokensBeforeSummary: tokens, promptTokens: 1 }, true],
    ["with the schemas of the tools", { maxTokensBeforeSummary: tokens, toolTokens: 1 }, true],
    ["never with a limit of 0", { maxTokensBeforeSummary: 0 }, false],
    [
      "if there are more messages than the limit",
      { maxTokensBeforeSummary: 0, maxMessagesBeforeSummary: 39 },
      true,
    ],
    [
      "not if there are exactly that many messages",
      { maxTokensBeforeSummary: 0, maxMessagesBeforeSummary: 40 },
      false,
    ],
    ["by either limit", { maxTokensBeforeSummary: tokens, maxMessagesBeforeSummary: 39 }, true],
  ])("%s", (_title, policy, expected) => {
    expect(isSummaryDue(history, policyOf(policy))).toBe(expected);
  });

  it.each([
    [5000, 1, true],
    [500, 2000, false],
  ])("by the %i tokens that the provider counted, where it counted", (counted, tokens, expected) => {
    expect(isSummaryDue([humanOf("h", tokens), answered("a", counted, 1)], policyOf())).toBe(expected);
  });
});

describe("What is covered", () => {
  type Policy = Parameters<typeof policyOf>[0];
  const coverOf = (history: readonly BaseMessage[], policy: Policy) =>
    planSummary(history, policyOf(policy))?.covered ?? [];
  const threeSteps = ["x1", "x2"].flatMap((id) => stepOf(id, 300, "c", "d"));

  it.each<[title: string, history: readonly BaseMessage[], policy: Policy, covered: string]>([
    ["is everything before the messages to keep", turnsOf(10, 30), {}, outline(turnsOf(9, 30))],
    [
      "is the earlier part of the turn only up to its last complete group",
      [humanOf("request"), ...threeSteps, ...stepOf("x3", 10)],
      { messagesToKeep: 3 },
      outline(threeSteps),
    ],
    [
      "is also the response before the request, if that response alone exceeds the budget",
      [humanOf("h1"), aiOf("long", 3000), humanOf("request")],
      {},
      "h1 long",
    ],
    ["is nothing if there is only the request", [humanOf("request", 3000)], {}, ""],
    ["is nothing beside a system message", [system("sys"), humanOf("request", 3000)], {}, ""],
    [
      "is nothing if a summary would not be worth a request",
      [humanOf("h1", 5), aiOf("a1", 5), humanOf("request", 3000)],
      {},
      "",
    ],
  ])("%s", (_title, history, policy, covered) => {
    expect(outline(coverOf(history, policy))).toBe(covered);
    expect(planSummary(history, policyOf(policy)) === undefined).toBe(covered === "");
  });

  it.each<[title: string, history: readonly BaseMessage[], policy: Policy, yes: string, no: string]>([
    [
      "is never a system message",
      [system("sys"), ...turnsOf(10, 30), system("sys2"), ...turnsOf(1)],
      {},
      "h0",
      "sys sys2",
    ],
    [
      "is never the current request, even if it began a long turn",
      [
        ...turnsOf(3),
        humanOf("request"),
        ...Array.from({ length: 20 }, (_, at) => stepOf(`x${at}`, 100)).flat(),
      ],
      { messagesToKeep: 2 },
      "h2 x18",
      "request",
    ],
    ...[{ messagesToKeep: 1 }, { tokensToKeep: 1 }].map(
      (keep): [string, BaseMessage[], Policy, string, string] => [
        `is never the group that needs a response, however little is kept: ${JSON.stringify(keep)}`,
        [...turnsOf(5, 100), humanOf("request"), ...stepOf("old", 100), ...stepOf("new", 400, "c", "d")],
        keep,
        "old",
        "new new-result-1",
      ],
    ),
  ])("%s", (_title, history, policy, yes, no) => {
    const covered = outline(coverOf(history, policy)).split(" ");
    expect(covered).toEqual(expect.arrayContaining(yes.split(" ")));
    for (const id of no.split(" ")) expect(covered).not.toContain(id);
  });

  it("is more if the kept messages would be too long, by complete groups", () => {
    const history = turnsOf(10, 100);
    const { length } = coverOf(history, { messagesToKeep: 20 });
    expect(tokensOf(history.slice(length))).toBeLessThanOrEqual(500);
    expect(tokensOf(history.slice(length - 4))).toBeGreaterThan(500);
  });

  it("is chosen by tokens if a number of tokens is kept", () => {
    const history = turnsOf(10, 30);
    const stays = tokensOf(history.slice(coverOf(history, { tokensToKeep: 200 }).length));
    expect(stays).toBeLessThanOrEqual(200 + tokensOf(turnsOf(1, 30)));
    expect(stays).toBeGreaterThan(100);
  });
});

describe("The summary before", () => {
  const kept = (...messages: string[]) => summary("s", { kind: "keep", messages });
  const late = (messages: readonly BaseMessage[], content?: string) =>
    reduce(messages, [kept("h1", "a1", "a2"), result("late", "c", content)]);
  const replaced = (messages: readonly BaseMessage[], maxTokensBeforeSummary = 1000) => {
    const {
      summaries = [],
      lateResults = [],
      covered = [],
    } = planSummary(messages, policyOf({ maxTokensBeforeSummary: maxTokensBeforeSummary })) ?? {};
    return { replaced: outline([...summaries, ...lateResults]), covered: outline(covered).split(" ") };
  };

  it("is covered by the new one, and no message is covered twice", () => {
    const ids = turnsOf(3).map(({ id }) => id ?? "");
    const plan = replaced(reduce(turnsOf(9, 30), [kept(...ids)]), 400);
    expect(plan.replaced).toBe("s");
    expect(plan.covered).not.toContain("h0");
    expect(plan.covered).toContain("h3");
  });

  it("is covered together with late results of its calls", () => {
    expect(replaced(late([...messagesIn("h1 a1(c) a2()"), ...turnsOf(8, 100)])).replaced).toBe("s late");
  });

  it("is replaced if late results alone are longer than the budget", () => {
    const messages = late(messagesIn("h1 a1(c) a2() h2 a3() request"), "x".repeat(40_000));
    expect(isSummaryDue(messages, policyOf())).toBe(true);
    expect(replaced(messages).replaced).toBe("s late");
  });
});

const shownOf = (history: readonly BaseMessage[]) => flattenVisible(visibleHistory(history));

describe("The model is shown", () => {
  /** A case in one line, as `messagesIn` reads it: `update / update => ids`. */
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
      "a message with the id of an archived one, which is another one":
        "s[h1,a1,t1,a2|c] / a1() => sys s h2 a1",
      "system messages in front": "sys2! => sys sys2 h1 a1 t1 a2 h2",
    }),
  )("%s", (_title, line) => {
    const [updates = "", expected] = line.split(" => ");
    const history = updates
      .split(" / ")
      .reduce(
        (before, update) => reduce(before, messagesIn(update)),
        messagesIn("sys! h1 a1(c) t1:c a2() h2"),
      );
    expect(outline(shownOf(history))).toBe(expected);
  });
});

describe("A result that came after its call was covered", () => {
  const archived = messagesIn("s[h1,a1,a2|c]");
  const shownWith = (coverage: readonly BaseMessage[], late: BaseMessage) =>
    shownOf(reduce(messagesIn("h1 a1(c) a2() h2"), [...coverage, late]));

  it.each([
    ["kept", messagesIn("s[h1,a1,a2]")],
    ["archived", archived],
  ])("is shown as text, with its call: %s", (_title, coverage) => {
    const input = shownWith(coverage, result("late", "c", "12 °C"));
    expect(input.map(({ type }) => type)).toEqual(["human", "human", "human"]);
    expect(input[1]?.text).toMatch(/12 °C/);
    expect(input[1]?.text).toContain("(c)");
  });

  it("is not shown if it is only a placeholder", () => {
    expect(outline(shownWith(archived, placeholder("p", "c")))).toBe("s h2");
  });

  it("is told as it is now if it is changed in place, and otherwise by the same message, whose tokens are counted once", () => {
    const late = result("t1", "c");
    const history = [...messagesIn("h1 s[a1|c]"), late];
    const note = () => shownOf(history).find(({ text }) => text.includes("after the summary"));
    const before = note();
    expect(before).toBeInstanceOf(HumanMessage);
    expect(note()).toBe(before);
    late.content = "19 °C";
    expect(note()?.text).toContain("19 °C");
  });
});
