/** Asks a model's client once, streamed or in one piece, and judges what it responds. */

import { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { concat } from "@langchain/core/utils/stream";
import { isAIMessage } from "../../history/call.js";
import { changeMessage } from "../../history/message.js";
import { isError } from "../../shared/is-error.js";
import { defined, prototypeWith } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import { Patience } from "../../shared/waiting.js";
import { fromInnerModels } from "../contract/model-view.js";
import { isFailedSample } from "../failure/failed-sample.js";
import {
  isAbortError,
  isEmptyResponse,
  isLost,
  isProgramFault,
  isRefusal,
} from "../failure/model-failure.js";
import { readOverflow } from "../failure/overflow.js";
import { wordsOf } from "../failure/own-words.js";
import { PROVIDERS } from "../table/providers.js";
import type { ClientStream, FailedAttempt, StreamIds } from "./client-stream.js";
import { isUnparsed, type Manner } from "./manner.js";
import {
  type BrokenReason,
  type FinishHabit,
  faultOf,
  faultOfText,
  finishReasonOf,
  type StreamedResponse,
  type Withheld,
} from "./verdict.js";

export interface StreamGuardOptions extends StreamIds {
  /** How many times a broken response is requested again. 0: never. */
  readonly maxFallbackAttempts: number;
  /** How long the model may be silent, in milliseconds. Undefined: for any time. */
  readonly idleTimeoutMs?: number | undefined;
  /** A `whole-text` is asked in one piece if it can be, and must not end at a token limit. @default "response" */
  readonly wants?: "response" | "whole-text";
  /**
   * Contract: gets the complete response before the client sees any of it, and resolves to the response that the
   * client gets instead. Undefined: a listening client gets the response as it arrives.
   */
  readonly settle?: ((response: AIMessage) => Promise<AIMessage>) | undefined;
  /** Contract: called for every broken response, before it is requested again. Must not throw. */
  readonly onBroken: (response: BrokenResponse) => void;
  /** Whether an error of the client is thrown as it is, and not as a `ModelError`. @default false */
  readonly keepsErrors?: boolean | undefined;
  /** Whether a response that the model or its provider withheld is an error, even if it has a text. @default false */
  readonly refusesWithheld?: boolean | undefined;
  /** Contract: called for a response that the model or its provider withheld. Must not throw. */
  readonly onWithheld?: ((response: WithheldResponse) => void) | undefined;
  /**
   * Contract: called with what the provider reported of a response that nobody gets, because its request is aborted or
   * fails. Must not throw.
   */
  readonly onUnused?: ((usage: UsageMetadata) => void) | undefined;
  /** Contract: called for every failed request that the client will send again, before it waits. Must not throw. */
  readonly onRetry?: ((failed: FailedAttempt) => void) | undefined;
}

export interface BrokenResponse {
  readonly reason: BrokenReason;
  /** The token usage that the provider reported. */
  readonly usage: UsageMetadata | undefined;
  /** The finish reason, if there is one. */
  readonly finish?: string | undefined;
  readonly cause?: unknown;
}

export interface WithheldResponse extends Withheld, Pick<BrokenResponse, "usage"> {
  /** Whether its text so far is the response. If not, it is an error. */
  readonly isKept: boolean;
}

/** What the client says of a response in one piece beside the message. LangChain passes it on to tracers. */
export interface Told {
  readonly generationInfo?: Readonly<Record<string, unknown>> | undefined;
  readonly llmOutput?: Readonly<Record<string, unknown>> | undefined;
}

export interface WholeResponse extends Told {
  readonly message: AIMessage | AIMessageChunk;
  readonly finish: string | undefined;
}

export type Received = WholeResponse | BrokenResponse;

export type CallOptions = BaseChatModel["ParsedCallOptions"];

export type Run = CallbackManagerForLLMRun | undefined;

export interface GuardedRequest {
  readonly model: BaseChatModel;
  /** The client of which the model is a view. */
  readonly original: BaseChatModel;
  readonly guard: StreamGuardOptions;
  readonly habit: FinishHabit;
  /** How the client alone would ask. */
  readonly manner: Manner;
  readonly messages: BaseMessage[];
  readonly options: CallOptions;
  readonly run: Run;
}

/** Whether a model can stream and streaming is not off. It is off with `streaming: false` or `disableStreaming`. */
export function mayStream(model: BaseChatModel): boolean {
  if (model._streamResponseChunks === baseOf(model)?._streamResponseChunks) return false;
  if (model.disableStreaming) return false;
  // In many clients the field `streaming` is false by default although they stream. `lc_kwargs` has the user's choice.
  return model.lc_kwargs?.["streaming"] !== false;
}

export async function askStreaming(request: GuardedRequest, client: ClientStream): Promise<Received> {
  const { model, guard, habit, messages, options } = request;
  const patience = new Patience(guard.idleTimeoutMs, options.signal);
  let stream: AsyncIterator<ChatGenerationChunk> | undefined;
  const read = async (): Promise<Received> => {
    stream = model._streamResponseChunks(messages, { ...options, signal: patience.signal });
    for (;;) {
      const { done, value } = await stream.next();
      // An aborted client ends its stream without an error.
      patience.signal.throwIfAborted();
      if (done) break;
      patience.rest();
      const telling = client.forward(value);
      try {
        await telling;
      } catch (error) {
        client.failure = error;
        throw error;
      }
      patience.begin();
    }
    const { chunks, message } = client.sent;
    if (message !== undefined) correctCalls(message, options);
    const response = judge(message, request, { chunks, omitsFinishReason: habit.omits });
    // Joined chunks can read "nullnullstop".
    if ("message" in response && message?.response_metadata["finish_reason"] !== undefined)
      message.response_metadata = { ...message.response_metadata, finish_reason: response.finish };
    return response;
  };
  try {
    return await patience.waitFor(read());
  } catch (error) {
    // A stream that still waits for its client ends with it, so nobody waits for this.
    stream?.return?.().catch(() => {});
    const { chunks } = client.sent;
    const usage = usageIn(chunks.map(({ message }) => message));
    if (patience.isOver) return { reason: "silent", usage, cause: error };
    const words = wordsOf(error, messages);
    if (isFailedSample(error, words)) return { reason: "sampling-failed", usage, cause: error };
    // OpenAI's Responses API refuses a request that is too long after its stream has begun with status 200.
    const isRefused = isRefusal(error) || readOverflow(error, words) !== undefined;
    const isOfClient = error !== client.failure && !isProgramFault(error);
    const isBroken = isOfClient && (chunks.length > 0 || isLost(error));
    if (options.signal?.aborted || isAbortError(error) || isRefused || !isBroken) {
      if (usage !== undefined) guard.onUnused?.(usage);
      throw error;
    }
    return { reason: "transport-error", usage, cause: error };
  } finally {
    patience.end();
  }
}

export async function askWhole(request: GuardedRequest): Promise<Received> {
  const { model, guard, habit, manner, messages, options, run } = request;
  const patience = new Patience(guard.idleTimeoutMs, options.signal);
  const tokens = new TokenWatch(manner === "whole" ? run : undefined);
  let generating: ReturnType<BaseChatModel["_generate"]> | undefined;
  try {
    const own = { ...options, signal: patience.signal };
    generating = unstreamed(model)._generate(messages, own, tokens.run);
    const { generations, llmOutput } = await patience.waitFor(generating);
    const [{ message, generationInfo } = {}] = generations;
    options.signal?.throwIfAborted();
    if (message === undefined || !AIMessage.isInstance(message)) return judge(undefined, request);
    message.response_metadata = { ...llmOutput, ...generationInfo, ...message.response_metadata };
    correctCalls(message, options);
    const response = judge(message, request, tokens.streamed(message, habit));
    return "reason" in response ? response : { ...response, generationInfo, llmOutput };
  } catch (error) {
    if (options.signal?.aborted) void noteLateUsage(generating, guard);
    if (patience.isOver) return { reason: "silent", usage: undefined, cause: error };
    if (isEmptyResponse(error)) return judge(undefined, request);
    if (isFailedSample(error, wordsOf(error, messages)))
      return { reason: "sampling-failed", usage: undefined, cause: error };
    const isOfManner = isUnparsed(error, options) && mayStream(model);
    const isBroken = isLost(error) && !isRefusal(error) && !isOfManner;
    if (options.signal?.aborted || isAbortError(error) || !isBroken) throw error;
    return { reason: "transport-error", usage: undefined, cause: error };
  } finally {
    patience.end();
  }
}

/** A model can respond although its request is aborted. */
async function noteLateUsage(
  generating: ReturnType<BaseChatModel["_generate"]> | undefined,
  { onUnused }: StreamGuardOptions,
): Promise<void> {
  const late = await generating?.catch(() => undefined);
  const [{ message } = {}] = late?.generations ?? [];
  if (message !== undefined && AIMessage.isInstance(message) && message.usage_metadata !== undefined)
    onUnused?.(message.usage_metadata);
}

/** The run as a client gets it that was asked in one piece. Some clients stream then too, and tell it each token. */
class TokenWatch {
  readonly run: CallbackManagerForLLMRun;
  #isStreamed = false;

  /** @param told The run that gets the tokens, if any. */
  constructor(told: Run) {
    const handleLLMNewToken: CallbackManagerForLLMRun["handleLLMNewToken"] = async (...token) => {
      const { chunk } = token[5] ?? {};
      this.#isStreamed ||= chunk !== undefined;
      await told?.handleLLMNewToken(...token);
    };
    this.run = viewOf(told ?? new CallbackManagerForLLMRun("", [], [], [], [], {}, {}), {
      handleLLMNewToken,
    });
  }

  /** The response as a stream, if it was one. Its end is in the message. */
  streamed(message: AIMessage, { omits }: FinishHabit): StreamedResponse | undefined {
    if (!this.#isStreamed) return undefined;
    const chunk = new ChatGenerationChunk({ text: "", message: message as AIMessageChunk });
    return { chunks: [chunk], omitsFinishReason: omits };
  }
}

/** A call without arguments is whole, and some hosts leave them out. The client can read a call only with them. */
function listBlankCalls(message: AIMessage): void {
  const { tool_calls = [], invalid_tool_calls = [] } = message;
  const blank = invalid_tool_calls.filter(({ name, args }) => name && (args ?? "").trim() === "");
  if (blank.length === 0) return;
  const read = blank.map(({ id, name = "" }) => ({
    type: "tool_call" as const,
    name,
    args: {},
    ...defined({ id }),
  }));
  const fields = {
    tool_calls: [...tool_calls, ...read],
    invalid_tool_calls: invalid_tool_calls.filter((call) => !blank.includes(call)),
  };
  changeMessage(message, fields);
}

/**
 * Corrects the lists of calls. What the provider has run is not run again: clients have seen the call, but it is not in
 * the state.
 */
function correctCalls(message: AIMessage | AIMessageChunk, options: CallOptions): void {
  listBlankCalls(message);
  const tools: unknown = Reflect.get(options, "tools");
  for (const provider of PROVIDERS) provider.correctCalls?.(message, tools);
}

/** @param streamed The stream, if the response was streamed. */
function judge(
  message: AIMessage | AIMessageChunk | undefined,
  { habit, guard: { wants } }: GuardedRequest,
  streamed?: StreamedResponse,
): Received {
  if (message === undefined) return { reason: "empty", usage: undefined };
  const finish = finishReasonOf(message, streamed);
  const reason = (wants === "whole-text" ? faultOfText(message) : undefined) ?? faultOf(message, streamed);
  if (finish !== undefined || reason === undefined) habit.note(finish, streamed === undefined);
  if (reason !== undefined) return { reason, usage: message.usage_metadata, finish };
  return { message, finish };
}

/** The usage of all these messages together. */
export function usageIn(messages: readonly BaseMessage[]) {
  const [first, ...others] = messages
    .filter(isAIMessage)
    .filter((message) => message.usage_metadata !== undefined)
    .map(({ usage_metadata }) => new AIMessageChunk({ content: "", ...defined({ usage_metadata }) }));
  return others.reduce((sum, usage) => concat(sum, usage), first)?.usage_metadata;
}

/**
 * A view of the model that does not stream. With `streaming: true`, the common clients' `_generate` also streams, and
 * OpenAI's client downloads a tokenizer to count tokens. A client can contain other clients with the same field.
 */
function unstreamed(model: BaseChatModel): BaseChatModel {
  if (Reflect.get(model, "streaming") !== true) return model;
  return viewOf(model, { streaming: false, ...fromInnerModels(model, unstreamed) });
}

/**
 * The prototype of LangChain's `BaseChatModel` in the model's own chain, because the model can come from another copy
 * of LangChain. Its `_streamResponseChunks` only throws. It is the one class that declares `_generateUncached`.
 */
export const baseOf = (model: BaseChatModel): BaseChatModel | undefined =>
  prototypeWith(model, "_generateUncached");

/** The words of V8 and of Babel. A client's other errors can quote the request, so they must begin like this. */
const PRIVATE_ACCESS =
  /^(?:Cannot (?:read|write) private member |Receiver must be an instance of |attempted to \w+ private )/;

export function isPrivateAccess(error: unknown): boolean {
  return isError(error) && error.name === "TypeError" && PRIVATE_ACCESS.test(error.message);
}
