/** Whether an answer is whole. Decided on the finished message: text before a call is not an end. */

import type { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { callsOf } from "../../history/call.js";
import { isBlankMessage } from "../../history/without-calls.js";
import { finishKindOf, readFinishReason } from "./finish-reason.js";
import { hasLeakedMarkup } from "./leaked-markup.js";

/** Why an answer cannot be used, and the words that say so after "The model's answer". */
export const BROKEN_REASONS = {
  "no-finish-reason": "ended before it was finished",
  "cut-off-arguments": "ended in the middle of a call's arguments",
  "cut-off-calls": "was cut off at its token limit or by a filter, and calls tools",
  "cut-off-text": "was cut off at its token limit or by a filter",
  "missing-calls": "announced tool calls and has none",
  empty: "is empty: neither text nor a tool call",
  "leaked-markup": "has tool calls as markup in its text",
  interrupted: "was given up by the provider in the middle",
  "transport-error": "did not arrive: the connection failed",
} as const;

export type BrokenReason = keyof typeof BROKEN_REASONS;

export type Verdict =
  | { readonly kind: "complete" }
  | { readonly kind: "broken"; readonly reason: BrokenReason };

export interface StreamedAnswer {
  /** The chunks as they came; a concatenated message may hold "nullnullstop". */
  readonly chunks: readonly ChatGenerationChunk[];
  /** Whether the model is known to answer without a finish reason; see `FinishHabit`. */
  readonly omitsFinishReason: boolean;
}

/**
 * @param message The whole answer.
 * @param streamed How it came, if it was streamed. What came as one body of JSON was parsed to its end: it needs no
 *   finish reason, and its arguments were read strictly by the client.
 */
export function judgeAnswer(message: AIMessage | AIMessageChunk, streamed?: StreamedAnswer): Verdict {
  const reason = finishReasonOf(message, streamed);
  const finish = reason === undefined ? undefined : finishKindOf(reason);
  const hasCalls = callsOf(message).length > 0;
  if (finish === "interrupted") return broken("interrupted");
  if (hasCalls) {
    // Also if every argument can be read: nobody knows what else it was going to say.
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

/** The same for a text that is kept only if it is whole, as a summary is. It comes as one body. */
export function judgeWholeText(message: AIMessage): Verdict {
  const reason = finishReasonOf(message);
  const finish = reason === undefined ? undefined : finishKindOf(reason);
  if (finish === "limit" || finish === "withheld") return broken("cut-off-text");
  return judgeAnswer(message);
}

/** What the last chunk that gives a reason says, or the whole message. */
export function finishReasonOf(
  message: AIMessage | AIMessageChunk,
  streamed?: StreamedAnswer,
): string | undefined {
  if (streamed === undefined) return readFinishReason(message.response_metadata, message.additional_kwargs);
  return streamed.chunks
    .map(({ generationInfo, message: chunk }) =>
      readFinishReason(generationInfo, chunk.response_metadata, chunk.additional_kwargs),
    )
    .findLast((found) => found !== undefined);
}

function broken(reason: BrokenReason): Verdict {
  return { kind: "broken", reason };
}

/**
 * Whether a finish reason would have come with a whole answer. Not every model gives one: LangChain's fakes and scripted
 * models do not, nor do some compatible servers. Clients of real providers say on every chunk whom they speak with, so
 * where nobody says so, the absence means nothing. Where somebody does, it means a cut, until a whole answer of the same
 * model has come without one.
 */
function isFinishReasonDue({ chunks, omitsFinishReason }: StreamedAnswer): boolean {
  if (omitsFinishReason) return false;
  return chunks.some(({ message: { response_metadata: metadata } }) =>
    ["model_provider", "model_name", "model"].some((field) => typeof metadata?.[field] === "string"),
  );
}

/**
 * Whether the arguments of every call are JSON to the end. Clients read a stream's arguments with a lenient parser, which
 * makes a valid call of `{"amount": 10`. What that parser refuses is no beginning of JSON but the model's own mistake: it
 * is an invalid call, which is never run and which the model is told of. No arguments at all are those of a call that
 * takes none, if the message is known to be finished.
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
