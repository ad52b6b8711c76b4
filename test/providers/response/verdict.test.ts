import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { describe, expect, it } from "vitest";
import {
  type BrokenReason,
  finishReasonOf,
  hasLeakedMarkup,
} from "../../../src/providers/response/verdict.js";
import { faultOf } from "../../support/internals.js";
import { rowsOf } from "../../support/test-tools.js";

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

const STREAMS = rowsOf<[pieces: readonly Piece[], verdict: BrokenReason | "complete"]>({
  "a text that stops": [[OPENAI, { content: "Hi." }, ended("stop")], "complete"],
  "a text at the limit": [[OPENAI, { content: "Hi" }, ended("length")], "complete"],
  "a text that a filter cut": [[OPENAI, { content: "Hi" }, ended("SAFETY")], "complete"],
  "an unknown reason": [[OPENAI, { content: "Hi." }, ended("flagged")], "complete"],
  "a text without an end": [[OPENAI, { content: "Hi" }], "no-finish-reason"],
  "complete calls without an end": [[OPENAI, call('{"a":1}')], "no-finish-reason"],
  "a fake's text": [[{ content: "Hi" }], "complete"],
  "a fake's calls": [[call('{"a":1}')], "complete"],
  "a fake's cut-off calls": [[call('{"amount": 10')], "cut-off-arguments"],
  "a fake's call without arguments": [[call("")], "cut-off-arguments"],
  "a call": [[OPENAI, call('{"a":1}'), ended("tool_calls")], "complete"],
  "text, then a call": [[OPENAI, { content: "I pay." }, call("{}"), ended("stop")], "complete"],
  "a call without arguments": [[OPENAI, call(""), ended("tool_calls")], "complete"],
  "arguments that no parser accepts": [[OPENAI, call("amount = 10"), ended("tool_calls")], "complete"],
  "cut-off arguments with a normal finish reason": [
    [OPENAI, call('{"amount": 10'), ended("tool_calls")],
    "cut-off-arguments",
  ],
  "the second of two calls cut off": [
    [OPENAI, call("{}"), call('{"a', 1), ended("stop")],
    "cut-off-arguments",
  ],
  "cut off and ended": [[OPENAI, call('{"amount": 10')], "cut-off-arguments"],
  "a call at the limit": [[OPENAI, call('{"a":1}'), ended("length")], "cut-off-calls"],
  "a call that a filter cut, which is removed": [[OPENAI, call("{}"), ended("content_filter")], "complete"],
  "a refusal without a text": [[OPENAI, { additional_kwargs: { stop_reason: "refusal" } }], "complete"],
  "the words of a refusal": [[OPENAI, { additional_kwargs: { refusal: "No." } }, ended("stop")], "complete"],
  "a pause": [[OPENAI, { additional_kwargs: { stop_reason: "pause_turn" } }], "complete"],
  "announced calls that are missing": [[OPENAI, { content: "I pay." }, ended("tool_calls")], "missing-calls"],
  "a malformed call of Gemini": [[{ info: { finishReason: "MALFORMED_FUNCTION_CALL" } }], "missing-calls"],
  nothing: [[OPENAI, ended("stop")], "empty"],
  blanks: [[{ content: " \n" }], "empty"],
  "a provider that gave up": [
    [OPENAI, { content: "Hi" }, ended("insufficient_system_resource")],
    "interrupted",
  ],
  "leaked markup": [
    [OPENAI, { content: "Now <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>pay" }, ended("stop")],
    "leaked-markup",
  ],
});

describe("a stream with", () => {
  it.each(STREAMS)("%s has its verdict", (_title, pieces, verdict) => {
    const { message, chunks } = stream(...pieces);
    const found = faultOf(message, { chunks, omitsFinishReason: false });
    expect(found ?? "complete").toBe(verdict);
  });

  it("no reason is judged by its content if the model never gives a reason", () => {
    const judge = (...pieces: readonly Piece[]) => {
      const { message, chunks } = stream(...pieces);
      return faultOf(message, { chunks, omitsFinishReason: true });
    };
    expect(judge(OPENAI, { content: "Hi." })).toBeUndefined();
    expect(judge(OPENAI, call('{"amount": 10'))).toBe("cut-off-arguments");
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
  const called = [{ name: "pay", args: {}, id: "1" }];
  const unread = [{ name: "pay", args: '{"a', id: "1" }];
  it.each(
    rowsOf<[fields: object, verdict: BrokenReason | undefined]>({
      "needs no finish reason": [
        { content: "Hi", response_metadata: { model_provider: "openai" } },
        undefined,
      ],
      "is empty": [{}, "empty"],
      "has a call with invalid JSON, which is never run": [{ invalid_tool_calls: unread }, undefined],
      "has a call and was cut off": [
        { tool_calls: called, response_metadata: { finish_reason: "length" } },
        "cut-off-calls",
      ],
    }),
  )("%s", (_title, fields, verdict) => {
    expect(faultOf(new AIMessage({ content: "", ...fields }))).toBe(verdict);
  });
});

describe("leaked markup is found in", () => {
  it.each([
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>pay",
    "Let me see.<｜tool▁call▁begin｜>pay",
    "<|tool_calls_begin|><|tool_call_begin|>pay",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.pay:0",
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="pay">',
    "<｜DSML｜function_calls>",
    "<｜｜DSML｜｜tool_calls>",
    "<‖DSML‖tool_calls>",
    "< | DSML | tool_calls>",
    '<tool_call>\n{"name": "pay"}',
    "```js\ncode\n```\n<｜tool▁calls▁begin｜>",
    "`<｜tool▁calls▁begin｜>` and <｜tool▁calls▁begin｜>",
    "An unpaired ` tick\n<｜tool▁calls▁begin｜>",
  ])("%j", (text) => {
    expect(hasLeakedMarkup(text)).toBe(true);
  });
});

describe("no leaked markup is found in", () => {
  it.each([
    "",
    "I will call the tool.",
    "DeepSeek writes `<｜tool▁calls▁begin｜>` before a call.",
    "```\n<｜tool▁calls▁begin｜>\n```",
    '```\n<｜tool▁calls▁begin｜>\n``` or ```<tool_call>{"',
    "The tag <tool_call> wraps a call.",
    "a < b | c | DSML",
  ])("%j", (text) => {
    expect(hasLeakedMarkup(text)).toBe(false);
  });
});
