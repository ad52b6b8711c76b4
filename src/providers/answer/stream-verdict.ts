/**
 * Decides whether a response is complete. It reads the finished message, because a text can be followed by a call.
 */

import type { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { isBlankMessage } from "../../history/calls/without-calls.js";
import { callsOf } from "../../history/messages/call.js";
import { finishKindOf, readFinishReason } from "./finish-reason.js";
import { hasLeakedMarkup } from "./leaked-markup.js";

/** Why a response cannot be used. Each text follows "The model's response". */
export const BROKEN_REASONS = {
  "no-finish-reason": "ended before it was finished",
  "cut-off-arguments": "ended in the middle of a tool call's arguments",
  "cut-off-calls": "has tool calls and was cut off at its token limit or by a filter",
  "cut-off-text": "was cut off at its token limit or by a filter",
  "missing-calls": "announced tool calls but has none",
  empty: "is empty: it has neither text nor a tool call",
  "leaked-markup": "has tool calls as markup in its text",
  interrupted: "was stopped by the provider in the middle",
  "transport-error": "did not arrive completely: the connection failed",
} as const;

export type BrokenReason = keyof typeof BROKEN_REASONS;

export type Verdict =
  | { readonly kind: "complete" }
  | { readonly kind: "broken"; readonly reason: BrokenReason };

export interface StreamedAnswer {
  /** The chunks as they arrived. A joined message can hold "nullnullstop". */
  readonly chunks: readonly ChatGenerationChunk[];
  /** Whether the model is known to omit the finish reason; see `FinishHabit`. */
  readonly omitsFinishReason: boolean;
}

/**
 * @param message The complete message.
 * @param streamed The stream, if the response was streamed. A response in one JSON body was parsed to its end. It
 *   needs no finish reason, and the client parsed its arguments strictly.
 */
export function judgeAnswer(message: AIMessage | AIMessageChunk, streamed?: StreamedAnswer): Verdict {
  const reason = finishReasonOf(message, streamed);
  const finish = reason === undefined ? undefined : finishKindOf(reason);
  const hasCalls = callsOf(message).length > 0;
  if (finish === "interrupted") return broken("interrupted");
  if (hasCalls) {
    // Even if all arguments are valid: the rest of the response is unknown.
    if (finish === "limit" || finish === "withheld") return broken("cut-off-calls");
    if (streamed !== undefined && !hasWholeArguments(message, finish !== undefined))
      return broken("cut-off-arguments");
  }
  if (streamed !== undefined && finish === undefined && isFinishReasonDue(streamed))
    return broken("no-finish-reason");
  if (!hasCalls && finish === "calls") return broken("missing-calls");
  if (!hasCalls && isBlankMessage(message)) return broken("empty");
  if (hasLeakedMarkup(message.text)) return broken("leaked-markup");
  return { kind: "complete" };
}

/** The same for a text that is kept only if it is complete, such as a summary. It comes in one piece. */
export function judgeWholeText(message: AIMessage): Verdict {
  const reason = finishReasonOf(message);
  const finish = reason === undefined ? undefined : finishKindOf(reason);
  if (finish === "limit" || finish === "withheld") return broken("cut-off-text");
  return judgeAnswer(message);
}

/** The last finish reason of the stream, or the finish reason of the message. */
export function finishReasonOf(
  message: AIMessage | AIMessageChunk,
  streamed?: StreamedAnswer,
): string | undefined {
  if (streamed === undefined) return readFinishReason(message.response_metadata, message.additional_kwargs);
  for (const { generationInfo, message: chunk } of streamed.chunks.toReversed()) {
    const found = readFinishReason(generationInfo, chunk.response_metadata, chunk.additional_kwargs);
    if (found !== undefined) return found;
  }
  return undefined;
}

function broken(reason: BrokenReason): Verdict {
  return { kind: "broken", reason };
}

/**
 * Whether a complete response would have a finish reason. Not every model gives one: LangChain's fakes, scripted
 * models and some compatible servers do not. Clients of real providers name the provider or the model on every chunk.
 * Without such a name, a missing finish reason means nothing. With it, a missing reason means that the stream was
 * cut, unless the same model has given a complete response without a reason.
 */
function isFinishReasonDue({ chunks, omitsFinishReason }: StreamedAnswer): boolean {
  if (omitsFinishReason) return false;
  return chunks.some(({ message: { response_metadata: metadata } }) =>
    ["model_provider", "model_name", "model"].some((field) => typeof metadata?.[field] === "string"),
  );
}

/**
 * Whether the arguments of every call are complete JSON. Clients parse the arguments of a stream leniently, so
 * `{"amount": 10` would become a valid call. Arguments that even this parser rejects are the model's own mistake.
 * They make an invalid call, which never runs and about which the model is told. Empty arguments are valid for a call
 * without arguments, if the message is known to be finished.
 */
function hasWholeArguments(message: AIMessage | AIMessageChunk, isFinished: boolean): boolean {
  const raw = "tool_call_chunks" in message ? (message.tool_call_chunks ?? []) : [];
  const refused = new Set(message.invalid_tool_calls?.map(({ args }) => args));
  return raw.every(({ args = "" }) => (args.trim() === "" ? isFinished : isJson(args) || refused.has(args)));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
