import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { describe, expect, it } from "vitest";
import { type BrokenReason, finishReasonOf, judgeAnswer } from "../../../src/providers/answer/verdict.js";

type Piece = Partial<ConstructorParameters<typeof AIMessageChunk>[0] & object> & { readonly info?: object };

function stream(...pieces: readonly Piece[]) {
  const chunks = pieces.map(({ info, ...fields }) => {
    const message = new AIMessageChunk({ content: "", ...fields } as never);
    return new ChatGenerationChunk({ text: message.text, message, ...(info && { generationInfo: info }) });
  });
  const message = chunks
    .map((chunk) => chunk.message as AIMessageChunk)
    .reduce((whole, part) => whole.concat(part));
  return { message, chunks };
}

/** The first chunk of a real client, which names its provider. */
const OPENAI: Piece = { response_metadata: { model_provider: "openai" } };
const call = (args: string, index = 0): Piece => ({
  tool_call_chunks: [{ name: "pay", args, id: `c${index}`, index, type: "tool_call_chunk" }],
});
const ended = (reason: string): Piece => ({ info: { finish_reason: reason } });

interface Row {
  readonly title: string;
  readonly pieces: readonly Piece[];
  readonly verdict: BrokenReason | "complete";
}

const rows: readonly Row[] = [
  { title: "a text that stops", pieces: [OPENAI, { content: "Hi." }, ended("stop")], verdict: "complete" },
  { title: "a text at the limit", pieces: [OPENAI, { content: "Hi" }, ended("length")], verdict: "complete" },
  {
    title: "a text that a filter cut",
    pieces: [OPENAI, { content: "Hi" }, ended("SAFETY")],
    verdict: "complete",
  },
  { title: "an unknown reason", pieces: [OPENAI, { content: "Hi." }, ended("flagged")], verdict: "complete" },
  { title: "a text without an end", pieces: [OPENAI, { content: "Hi" }], verdict: "no-finish-reason" },
  { title: "complete calls without an end", pieces: [OPENAI, call('{"a":1}')], verdict: "no-finish-reason" },
  { title: "a fake's text", pieces: [{ content: "Hi" }], verdict: "complete" },
  { title: "a fake's calls", pieces: [call('{"a":1}')], verdict: "complete" },
  { title: "a fake's cut-off calls", pieces: [call('{"amount": 10')], verdict: "cut-off-arguments" },
  { title: "a fake's call without arguments", pieces: [call("")], verdict: "cut-off-arguments" },
  { title: "a call", pieces: [OPENAI, call('{"a":1}'), ended("tool_calls")], verdict: "complete" },
  {
    title: "text, then a call",
    pieces: [OPENAI, { content: "I pay." }, call("{}"), ended("stop")],
    verdict: "complete",
  },
  { title: "a call without arguments", pieces: [OPENAI, call(""), ended("tool_calls")], verdict: "complete" },
  {
    title: "arguments that no parser accepts",
    pieces: [OPENAI, call("amount = 10"), ended("tool_calls")],
    verdict: "complete",
  },
  {
    title: "cut-off arguments with a normal finish reason",
    pieces: [OPENAI, call('{"amount": 10'), ended("tool_calls")],
    verdict: "cut-off-arguments",
  },
  {
    title: "the second of two calls cut off",
    pieces: [OPENAI, call("{}"), call('{"a', 1), ended("stop")],
    verdict: "cut-off-arguments",
  },
  { title: "cut off and ended", pieces: [OPENAI, call('{"amount": 10')], verdict: "cut-off-arguments" },
  {
    title: "a call at the limit",
    pieces: [OPENAI, call('{"a":1}'), ended("length")],
    verdict: "cut-off-calls",
  },
  {
    title: "a call that a filter cut",
    pieces: [OPENAI, call("{}"), ended("content_filter")],
    verdict: "cut-off-calls",
  },
  {
    title: "announced calls that are missing",
    pieces: [OPENAI, { content: "I pay." }, ended("tool_calls")],
    verdict: "missing-calls",
  },
  {
    title: "a malformed call of Gemini",
    pieces: [{ info: { finishReason: "MALFORMED_FUNCTION_CALL" } }],
    verdict: "missing-calls",
  },
  { title: "nothing", pieces: [OPENAI, ended("stop")], verdict: "empty" },
  { title: "blanks", pieces: [{ content: " \n" }], verdict: "empty" },
  {
    title: "a provider that gave up",
    pieces: [OPENAI, { content: "Hi" }, ended("insufficient_system_resource")],
    verdict: "interrupted",
  },
  {
    title: "leaked markup",
    pieces: [OPENAI, { content: "Now <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>pay" }, ended("stop")],
    verdict: "leaked-markup",
  },
];

describe("a stream with", () => {
  it.each(rows)("$title is $verdict", ({ pieces, verdict }) => {
    const { message, chunks } = stream(...pieces);
    const found = judgeAnswer(message, { chunks, omitsFinishReason: false });
    expect(found).toEqual(
      verdict === "complete" ? { kind: "complete" } : { kind: "broken", reason: verdict },
    );
  });

  it("no reason is judged by its content if the model never gives a reason", () => {
    const judge = (...pieces: readonly Piece[]) => {
      const { message, chunks } = stream(...pieces);
      return judgeAnswer(message, { chunks, omitsFinishReason: true });
    };
    expect(judge(OPENAI, { content: "Hi." })).toEqual({ kind: "complete" });
    expect(judge(OPENAI, call('{"amount": 10'))).toEqual({ kind: "broken", reason: "cut-off-arguments" });
  });
});

describe("the finish reason of a stream is read from", () => {
  const reasons: readonly (readonly [client: string, pieces: readonly Piece[], reason: string])[] = [
    ["ChatOpenAI", [OPENAI, ended("stop")], "stop"],
    ["ChatAnthropic", [OPENAI, { additional_kwargs: { stop_reason: "tool_use" } }], "tool_use"],
    ["ChatGoogle", [{ response_metadata: { finishReason: "STOP" } }], "STOP"],
    [
      "ChatAlibabaTongyi",
      ["null", "null", "stop"].map((finish_reason) => ({ response_metadata: { finish_reason } })),
      "stop",
    ],
    ["the Responses API", [{ response_metadata: { status: "completed" } }], "completed"],
    [
      "the Responses API",
      [{ response_metadata: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } } }],
      "max_output_tokens",
    ],
    ["ChatBedrockConverse", [{ response_metadata: { messageStop: { stopReason: "end_turn" } } }], "end_turn"],
    ["ChatOllama", [{ response_metadata: { done_reason: "stop" } }], "stop"],
  ];
  it.each(reasons)("%s (%#)", (_, pieces, reason) => {
    const { message, chunks } = stream(...pieces);
    expect(finishReasonOf(message, { chunks, omitsFinishReason: false })).toBe(reason);
  });
});

describe("a response in one piece", () => {
  const rows: readonly (readonly [title: string, message: AIMessage, verdict: BrokenReason | "complete"])[] =
    [
      [
        "needs no finish reason",
        new AIMessage({ content: "Hi", response_metadata: { model_provider: "openai" } }),
        "complete",
      ],
      ["is empty", new AIMessage({ content: "" }), "empty"],
      [
        "has a call with invalid JSON, which is never run",
        new AIMessage({ content: "", invalid_tool_calls: [{ name: "pay", args: '{"a', id: "1" }] }),
        "complete",
      ],
      [
        "has a call and was cut off",
        new AIMessage({
          content: "",
          tool_calls: [{ name: "pay", args: {}, id: "1" }],
          response_metadata: { finish_reason: "length" },
        }),
        "cut-off-calls",
      ],
    ];
  it.each(rows)("%s", (_, message, verdict) => {
    const found = judgeAnswer(message);
    expect(found).toEqual(
      verdict === "complete" ? { kind: "complete" } : { kind: "broken", reason: verdict },
    );
  });
});
