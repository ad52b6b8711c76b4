/** Takes only whole answers from a model: a broken stream is asked for again, without streaming. */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { ModelError } from "../../errors.js";
import { isAIMessage } from "../../history/call.js";
import { coerceMessage } from "../../history/coerce-message.js";
import { type FailedAttempt, tellRetries } from "../failure/tell-retries.js";
import {
  isAbortError,
  isConnectError,
  isEmptyAnswer,
  isRefusal,
  isTransportError,
} from "../failure/transport-error.js";
import { ClientStream } from "./client-stream.js";
import type { FinishHabit } from "./finish-habit.js";
import {
  BROKEN_REASONS,
  type BrokenReason,
  finishReasonOf,
  judgeAnswer,
  judgeWholeText,
} from "./stream-verdict.js";
import { mayStream, unstreamed } from "./unstreamed.js";

export interface StreamGuardOptions {
  /** How often a broken answer is asked for again. 0: never. */
  readonly maxFallbackAttempts: number;
  readonly habit: FinishHabit;
  /** A `whole-text` is asked for without streaming from the first, and must not end at a token limit. @default "answer" */
  readonly wants?: "answer" | "whole-text";
  /** Whether a message of the thread has this id. */
  readonly isTaken: (id: string) => boolean;
  /**
   * Contract: is handed the whole answer before the client has any of it; resolves to what the client gets in its
   * place. Undefined: the answer goes to the client while it comes.
   */
  readonly settle?: ((answer: AIMessage) => Promise<AIMessage>) | undefined;
  /** Contract: is told of every broken answer before it is asked for again; must not throw. */
  readonly onBroken: (answer: BrokenAnswer) => void;
  /** Contract: is told of every failed request that the client will send again, before it waits; must not throw. */
  readonly onRetry?: ((failed: FailedAttempt) => void) | undefined;
}

export interface BrokenAnswer {
  readonly reason: BrokenReason;
  /** What the provider said that it cost. */
  readonly usage: UsageMetadata | undefined;
  readonly cause?: unknown;
}

type WholeAnswer =
  | { readonly kind: "streamed"; readonly message: AIMessageChunk }
  | { readonly kind: "whole"; readonly message: AIMessage };

type Answer = WholeAnswer | ({ readonly kind: "broken" } & BrokenAnswer);

type CallOptions = BaseChatModel["ParsedCallOptions"];

/**
 * The model's `_streamResponseChunks`, guarded: its stream goes on to the client while it comes, and one chunk with the
 * whole answer comes out in the end. No tool has run by then, so asking again repeats nothing.
 *
 * It goes straight through: what the provider refuses (429 and 5xx are retried by the model's client), what fails
 * before an answer began, and the abort of the run.
 *
 * @throws ModelError if no whole answer came in as many attempts as there may be.
 */
export async function* guardedChunks(
  model: BaseChatModel,
  guard: StreamGuardOptions,
  messages: BaseMessage[],
  options: CallOptions,
  run?: CallbackManagerForLLMRun,
): AsyncGenerator<ChatGenerationChunk> {
  const { settle } = guard;
  const client = new ClientStream(settle === undefined ? run : undefined, guard.isTaken);
  // Without the manager of the run: with it, the chunks would go to the client past us, and `_generate` might stream.
  const ask = () =>
    tellRetries(model, guard.onRetry, () => askWhole(unstreamed(model), guard, messages, options));
  const answer = await insistOnWhole(guard, options.signal, {
    first: () =>
      mayStream(model) && guard.wants !== "whole-text"
        ? tellRetries(model, guard.onRetry, () => askStreaming(model, guard, messages, options, client))
        : ask(),
    again: ask,
  }).catch(async (error: unknown) => {
    // Who aborts a run may want to read what came.
    if (options.signal?.aborted !== true) await client.takeBack();
    throw error;
  });
  const message =
    settle === undefined
      ? await finish(answer, client)
      : await new ClientStream(run, guard.isTaken).replaceBy(await settle(storedForm(answer.message)));
  yield new ChatGenerationChunk({ text: message.text, message });
}

async function finish(answer: WholeAnswer, client: ClientStream): Promise<AIMessageChunk> {
  return answer.kind === "streamed" ? answer.message : client.replaceBy(answer.message);
}

function storedForm(answer: AIMessage): AIMessage {
  const stored = coerceMessage(answer);
  if (stored === undefined || !isAIMessage(stored)) throw new ModelError("The model's answer is no message.");
  return stored;
}

/** Asks, and asks again while the answer is broken. */
async function insistOnWhole(
  { maxFallbackAttempts, onBroken }: StreamGuardOptions,
  signal: AbortSignal | undefined,
  ask: { readonly first: () => Promise<Answer>; readonly again: () => Promise<Answer> },
): Promise<WholeAnswer> {
  let answer = await ask.first();
  for (let attempts = 0; answer.kind === "broken"; attempts += 1) {
    onBroken(answer);
    if (attempts >= maxFallbackAttempts) throw noWholeAnswer(answer, attempts);
    signal?.throwIfAborted();
    answer = await ask.again();
  }
  return answer;
}

async function askStreaming(
  model: BaseChatModel,
  { habit }: StreamGuardOptions,
  messages: BaseMessage[],
  options: CallOptions,
  client: ClientStream,
): Promise<Answer> {
  const chunks: ChatGenerationChunk[] = [];
  try {
    for await (const chunk of model._streamResponseChunks(messages, options)) {
      options.signal?.throwIfAborted();
      chunks.push(chunk);
      await client.forward(chunk);
    }
    // Clients end their stream without a word when it is aborted.
    options.signal?.throwIfAborted();
  } catch (error) {
    const isLost = chunks.length > 0 || (isTransportError(error) && !isConnectError(error));
    if (options.signal?.aborted || isAbortError(error) || isRefusal(error) || !isLost) throw error;
    return { kind: "broken", reason: "transport-error", usage: usageOf(client.sent?.message), cause: error };
  }
  const message = client.sent?.message;
  if (!AIMessageChunk.isInstance(message)) return { kind: "broken", reason: "empty", usage: undefined };
  const streamed = { chunks, omitsFinishReason: habit.omits };
  const verdict = judgeAnswer(message, streamed);
  if (verdict.kind === "broken") return { ...verdict, usage: usageOf(message) };
  const reason = finishReasonOf(message, streamed);
  habit.note(reason, false);
  // Joined, it may read "nullnullstop".
  if (message.response_metadata["finish_reason"] !== undefined)
    message.response_metadata = { ...message.response_metadata, finish_reason: reason };
  return { kind: "streamed", message };
}

async function askWhole(
  model: BaseChatModel,
  { habit, wants }: StreamGuardOptions,
  messages: BaseMessage[],
  options: CallOptions,
): Promise<Answer> {
  let message: AIMessage | undefined;
  try {
    const { generations, llmOutput } = await model._generate(messages, options);
    const [generation] = generations;
    options.signal?.throwIfAborted();
    if (generation !== undefined && AIMessage.isInstance(generation.message)) {
      message = generation.message;
      const { generationInfo } = generation;
      message.response_metadata = { ...llmOutput, ...generationInfo, ...message.response_metadata };
    }
  } catch (error) {
    if (isEmptyAnswer(error)) return { kind: "broken", reason: "empty", usage: undefined };
    const isLost = isTransportError(error) && !isRefusal(error);
    if (options.signal?.aborted || isAbortError(error) || !isLost) throw error;
    return { kind: "broken", reason: "transport-error", usage: undefined, cause: error };
  }
  if (message === undefined) return { kind: "broken", reason: "empty", usage: undefined };
  const verdict = wants === "whole-text" ? judgeWholeText(message) : judgeAnswer(message);
  if (verdict.kind === "broken") return { ...verdict, usage: usageOf(message) };
  habit.note(finishReasonOf(message), true);
  return { kind: "whole", message };
}

function usageOf(message: BaseMessage | undefined): UsageMetadata | undefined {
  return message !== undefined && "usage_metadata" in message
    ? (message.usage_metadata as UsageMetadata | undefined)
    : undefined;
}

function noWholeAnswer({ reason, cause }: BrokenAnswer, attempts: number): ModelError {
  const answer = reason === "empty" ? "The model answered nothing: its answer" : "The model's answer";
  const again =
    attempts === 0
      ? "It was not asked again."
      : `It was asked again ${attempts} ${attempts === 1 ? "time" : "times"} without streaming.`;
  const advice = reason === "cut-off-calls" ? " Let it write more tokens, or ask for less at once." : "";
  return new ModelError(
    `${answer} ${BROKEN_REASONS[reason]}. ${again}${advice} No tool was run, and the history is as it was.`,
    ...(cause === undefined ? [] : [{ cause }]),
  );
}
