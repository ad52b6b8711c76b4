import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { isSummaryDue, planSummary } from "../../../src/history/plan-summary.js";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { aiOf, humanOf, policyOf, stepOf, tokensOf, turnsOf } from "../../support/long-histories.js";
import { ai, human, result, summary, system } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

const coveredBy = (history: readonly BaseMessage[], policy: Parameters<typeof policyOf>[0]) =>
  outline(planSummary(history, policyOf(policy))?.covered ?? []);

describe("A summary is due", () => {
  const history = turnsOf(10);
  const tokens = tokensOf(history);

  it.each([
    ["if the input has more tokens than the limit", { maxTokens: tokens - 1 }, true],
    ["not if it has exactly that many tokens", { maxTokens: tokens }, false],
    ["with the system prompt", { maxTokens: tokens, promptTokens: 1 }, true],
    ["with the schemas of the tools", { maxTokens: tokens, toolTokens: 1 }, true],
    ["never with a limit of 0", { maxTokens: 0 }, false],
    ["if there are more messages than the limit", { maxTokens: 0, maxMessages: 39 }, true],
    ["not if there are exactly that many messages", { maxTokens: 0, maxMessages: 40 }, false],
    ["by either limit", { maxTokens: tokens, maxMessages: 39 }, true],
  ])("%s", (_title, policy, expected) => {
    expect(isSummaryDue(history, policyOf(policy))).toBe(expected);
  });

  it.each([
    [5000, 1, true],
    [500, 2000, false],
  ])("by the %i tokens that the provider counted, where it counted", (input_tokens, tokens, expected) => {
    const usage_metadata = { input_tokens, output_tokens: 1, total_tokens: input_tokens + 1 };
    const answer = Object.assign(ai("a"), { usage_metadata });
    expect(isSummaryDue([humanOf("h", tokens), answer], policyOf())).toBe(expected);
  });
});

describe("What is covered", () => {
  it("is everything before the messages to keep", () => {
    expect(coveredBy(turnsOf(10, 30), { messagesToKeep: 4 })).toBe(outline(turnsOf(9, 30)));
  });

  it("is more if the kept messages would be too long, by complete groups", () => {
    const history = turnsOf(10, 100);
    const covered = planSummary(history, policyOf({ messagesToKeep: 20 }))?.covered ?? [];
    const stays = history.slice(covered.length);
    expect(tokensOf(stays)).toBeLessThanOrEqual(500);
    expect(tokensOf(history.slice(covered.length - 4))).toBeGreaterThan(500);
  });

  it("is chosen by tokens if a number of tokens is kept", () => {
    const history = turnsOf(10, 30);
    const covered = planSummary(history, policyOf({ tokensToKeep: 200 }))?.covered ?? [];
    const stays = tokensOf(history.slice(covered.length));
    expect(stays).toBeLessThanOrEqual(200 + tokensOf(turnsOf(1, 30)));
    expect(stays).toBeGreaterThan(100);
  });

  it("is never a system message", () => {
    const history = [system("sys"), ...turnsOf(10, 30), system("sys2"), ...turnsOf(1)];
    expect(coveredBy(history, {})).not.toContain("sys");
  });

  it("is never the current request, even if it began a long turn", () => {
    const steps = Array.from({ length: 20 }, (_, step) => stepOf(`x${step}`, 100)).flat();
    const history = [...turnsOf(3), humanOf("request"), ...steps];
    const covered = coveredBy(history, { messagesToKeep: 2 }).split(" ");
    expect(covered).toContain("h2");
    expect(covered).toContain("x18");
    expect(covered).not.toContain("request");
  });

  it.each([
    ["messages", { messagesToKeep: 1 }],
    ["tokens", { tokensToKeep: 1 }],
  ])("is never the group that needs a response, however few %s are kept", (_title, keep) => {
    const history = [
      ...turnsOf(5, 100),
      humanOf("request"),
      ...stepOf("old", 100),
      ...stepOf("new", 400, "c", "d"),
    ];
    const covered = coveredBy(history, keep).split(" ");
    expect(covered).toContain("old");
    expect(covered).not.toContain("new");
    expect(covered).not.toContain("new-result-1");
  });

  it("is the earlier part of the turn only up to its last complete group", () => {
    const history = [
      humanOf("request"),
      ...stepOf("x1", 300, "c", "d"),
      ...stepOf("x2", 300, "c", "d"),
      ...stepOf("x3", 10),
    ];
    expect(coveredBy(history, { messagesToKeep: 3 })).toBe(
      "x1 x1-result-0 x1-result-1 x2 x2-result-0 x2-result-1",
    );
  });

  it("is also the response before the request, if that response alone exceeds the budget", () => {
    const history = [humanOf("h1"), aiOf("long", 3000), humanOf("request")];
    expect(coveredBy(history, {})).toBe("h1 long");
  });

  it("is nothing if there is only the request", () => {
    expect(planSummary([humanOf("request", 3000)], policyOf())).toBeUndefined();
    expect(planSummary([system("sys"), humanOf("request", 3000)], policyOf())).toBeUndefined();
  });

  it("is nothing if a summary would not be worth a request", () => {
    const history = [humanOf("h1", 5), aiOf("a1", 5), humanOf("request", 3000)];
    expect(planSummary(history, policyOf())).toBeUndefined();
  });
});

describe("The summary before", () => {
  const kept = (id: string, ...messages: string[]) => summary(id, { kind: "keep", messages });

  it("is covered by the new one, and no message is covered twice", () => {
    const old = turnsOf(3);
    const ids = old.map(({ id }) => id ?? "");
    const more = turnsOf(9, 30).slice(12);
    const { messages } = reduceMessages([...old, ...more], [kept("s", ...ids)]);
    const plan = planSummary(messages, policyOf({ maxTokens: 400 }));
    expect(outline(plan?.summaries ?? [])).toBe("s");
    expect(outline(plan?.covered ?? []).split(" ")).not.toContain("h0");
    expect(outline(plan?.covered ?? []).split(" ")).toContain("h3");
  });

  it("is covered together with late results of its calls", () => {
    const start = [human("h1"), ai("a1", "c"), ai("a2"), ...turnsOf(8, 100)];
    const { messages } = reduceMessages(start, [kept("s", "h1", "a1", "a2"), result("late", "c")]);
    const plan = planSummary(messages, policyOf());
    expect(outline([...(plan?.summaries ?? []), ...(plan?.lateResults ?? [])])).toBe("s late");
  });

  it("is replaced if late results alone are longer than the budget", () => {
    const start = [human("h1"), ai("a1", "c"), ai("a2"), human("h2"), ai("a3"), human("request")];
    const late = result("late", "c", "x".repeat(40_000));
    const { messages } = reduceMessages(start, [kept("s", "h1", "a1", "a2"), late]);
    expect(isSummaryDue(messages, policyOf())).toBe(true);
    const plan = planSummary(messages, policyOf());
    expect(outline([...(plan?.summaries ?? []), ...(plan?.lateResults ?? [])])).toBe("s late");
  });
});
