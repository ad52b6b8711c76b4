import { describe, expect, it } from "vitest";
import { describeEvent, describeUsage } from "../../scripts/terminal/describe-event.js";

describe("describeEvent", () => {
  it.each<{ event: object; words: string }>([
    {
      event: { type: "model-retry", attempt: 2, maxAttempts: 5, reason: "503" },
      words: "the model failed (request 2 of 5). The request is sent again: 503",
    },
    {
      event: { type: "model-switched", from: "gpt-5", to: "anthropic:claude", reason: "503" },
      words: "the model gpt-5 failed, and anthropic:claude is asked instead: 503",
    },
    {
      event: { type: "summary-made", covered: ["a", "b"], tokensSaved: 120 },
      words: "2 earlier messages were summarised, which saves 120 tokens",
    },
    {
      event: { type: "summary-failed", reason: "disk full", retryAfterTurns: 2 },
      words: "no summary was made, and the history is unchanged. It is tried again after 2 turns: disk full",
    },
    {
      event: {
        type: "input-shortened",
        reason: "window",
        maxTokens: 9,
        shortened: ["a"],
        leftOut: ["b", "c"],
      },
      words: "the model input is too long: 2 messages left out, 1 message shortened",
    },
    {
      event: { type: "dialect-changed", from: "openai", to: "strict", reason: "400" },
      words: "the model refused its input, and gets it in the form that every provider accepts: 400",
    },
    {
      event: { type: "memory-missing", remedy: "checkpointer: true" },
      words:
        "the agent has no memory inside the other graph, so the work of a cancelled run is lost. Set `checkpointer: true`",
    },
    {
      event: { type: "limit-reached", limit: "maxIterations" },
      words: "the limit maxIterations is reached: the model must respond without tools",
    },
    {
      event: { type: "structured-response-refused", reason: "no name" },
      words: "the response is not in the format: no name",
    },
    {
      event: { type: "structured-response-missing", reason: "limit-reached" },
      words: "the turn ended without a structured response: a limit is reached",
    },
    {
      event: { type: "result-refused", tool: "pay", callId: "c1" },
      words: "pay: a result was left out of the input, because the agent answers this call itself",
    },
    {
      event: { type: "result-dropped", callId: "c1", message: {} },
      words: "a result of the earlier run was dropped, because its call was not saved",
    },
    {
      event: { type: "message-refused", messageId: "h1" },
      words: "a changed message of the input was left out, because a summary has archived it",
    },
    {
      event: { type: "role-changed", messageId: undefined },
      words: "a system message of the input was stored as the user's words",
    },
    {
      event: { type: "limit-near", limit: "max-tokens-per-thread", used: 8_100, max: 10_000 },
      words: "the limit max-tokens-per-thread is near: 8,100 of 10,000 are used",
    },
    { event: { type: "of another sender" }, words: '{"type":"of another sender"}' },
  ])("says: $words", ({ event, words }) => {
    expect(describeEvent(event)).toBe(words);
  });
});

it("The tokens of a run are shown with its input and output tokens", () => {
  expect(describeUsage({ input_tokens: 12_000, output_tokens: 345, total_tokens: 12_345 })).toBe(
    "12,345 tokens: 12,000 in, 345 out",
  );
});
