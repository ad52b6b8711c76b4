import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { measureInput } from "../../../src/history/plan-summary.js";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { createSummary } from "../../../src/history/summary.js";
import { aiOf, humanOf, tokensOf, turnsOf } from "../../support/long-histories.js";
import { removal, result } from "../../support/make-messages.js";

function answered(id: string, input_tokens: number, output_tokens: number): AIMessage {
  const total_tokens = input_tokens + output_tokens;
  return Object.assign(new AIMessage({ id, content: "fine" }), {
    usage_metadata: { input_tokens, output_tokens, total_tokens },
  });
}

/** What every request has besides its messages. */
const beside = (promptTokens: number) => ({ promptTokens, toolTokens: 0, maxToolCalls: undefined });

const summaryOf = (id: string, messages: readonly BaseMessage[], asOf: string) =>
  Object.assign(
    createSummary("short", { kind: "keep", messages: messages.map((one) => one.id ?? ""), asOf }),
    { id },
  );

describe("An input is as long", () => {
  it("as the estimate of its messages and of the other parts of a request", () => {
    const history = turnsOf(3);
    expect(measureInput(history, beside(0))).toBe(tokensOf(history));
    expect(measureInput(history, beside(250))).toBe(tokensOf(history) + 250);
    expect(measureInput([], beside(7))).toBe(7);
  });

  it("as the provider reported with its last response, and the messages since", () => {
    const since = [humanOf("h9", 30)];
    const history = [...turnsOf(3), answered("u", 900, 50), ...since];
    // The provider's number includes the prompt and the schemas.
    expect(measureInput(history, beside(250))).toBe(950 + tokensOf(since));
  });

  it("as the last of several responses reported", () => {
    expect(measureInput([answered("u1", 100, 0), humanOf("h"), answered("u2", 700, 10)], beside(0))).toBe(
      710,
    );
  });

  it.each([
    ["nothing", 0],
    ["nonsense", Number.NaN],
  ])("as the estimate if the provider reported %s", (_title, tokens) => {
    const history = [humanOf("h"), answered("u", tokens, 5)];
    expect(measureInput(history, beside(0))).toBe(tokensOf(history));
  });
});

describe("After a summary", () => {
  const old = [...turnsOf(5, 100), answered("u", 5000, 10)];
  const { messages: history } = reduceMessages([...old, humanOf("h9")], [summaryOf("s", old, "h9")]);

  it("numbers reported for the longer input no longer count", () => {
    expect(measureInput(history, beside(10))).toBe(
      10 + tokensOf([humanOf("h9"), createSummary("short", { kind: "keep", messages: [] })]),
    );
  });

  it("numbers reported for the shorter input count", () => {
    const after = reduceMessages(history, [answered("u2", 60, 5)]).messages;
    expect(measureInput(after, beside(10))).toBe(65);
  });

  it("the longer input counts again once the summary is removed", () => {
    const after = reduceMessages(history, [answered("u2", 60, 5), removal("s")]).messages;
    expect(measureInput(after, beside(0))).toBeGreaterThanOrEqual(tokensOf(after) * 0.9);
  });

  it("a late result of a covered call counts, because it is shown", () => {
    const step = new AIMessage({ id: "x", content: "", tool_calls: [{ id: "c", name: "look", args: {} }] });
    const { messages: before } = reduceMessages(
      [step, aiOf("a"), humanOf("h")],
      [summaryOf("s", [step, aiOf("a")], "h")],
    );
    const late = result("t", "c", "x".repeat(4000));
    const { messages: after } = reduceMessages(before, [late]);
    expect(measureInput(after, beside(0)) - measureInput(before, beside(0))).toBeGreaterThan(1000);
  });
});
