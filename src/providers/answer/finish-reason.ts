/** Sorts the finish reasons of all providers into the few kinds that matter here. */

import { isRecord } from "../../shared/is-record.js";

export type FinishKind =
  /** The model finished its response. */
  | "done"
  /** The model stopped so that its tool calls can run. */
  | "calls"
  /** The response was cut off at a token limit. */
  | "limit"
  /** The provider withheld the rest. */
  | "withheld"
  /** The provider stopped in the middle of the response. */
  | "interrupted";

/**
 * In lower case. An unknown reason counts as `done`, so that a new word does not turn good responses into broken
 * ones.
 */
const KINDS: ReadonlyMap<string, FinishKind> = new Map(
  Object.entries({
    calls: [
      "tool_calls",
      "tool_call",
      "tool_use",
      "function_call",
      "malformed_function_call",
      "unexpected_tool_call",
    ],
    limit: [
      "length",
      "max_tokens",
      "max_output_tokens",
      "model_length",
      "model_context_window_exceeded",
      "error_limit",
      "incomplete",
    ],
    withheld: [
      "content_filter",
      "content_filtered",
      "guardrail_intervened",
      "safety",
      "recitation",
      "prohibited_content",
      "blocklist",
      "spii",
      "refusal",
      "sensitive",
    ],
    interrupted: [
      "insufficient_system_resource",
      "network_error",
      "error",
      "failed",
      "cancelled",
      "in_progress",
    ],
  } as const satisfies Partial<Record<FinishKind, readonly string[]>>).flatMap(([kind, words]) =>
    words.map((word): [string, FinishKind] => [word, kind as FinishKind]),
  ),
);

/**
 * OpenAI, DeepSeek, Tongyi, Mistral, Groq: `finish_reason`. Gemini: `finishReason`. Anthropic: `stop_reason`.
 * Bedrock: `stopReason`, in a stream within `messageStop`. Ollama: `done_reason`.
 */
const FIELDS = ["finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"];
/** Statuses of the Responses API. Other clients may use the field for something else. */
const STATUSES: ReadonlySet<unknown> = new Set([
  "completed",
  "incomplete",
  "failed",
  "cancelled",
  "in_progress",
]);

export function finishKindOf(reason: string): FinishKind {
  return KINDS.get(reason.toLowerCase()) ?? "done";
}

/**
 * The first finish reason in these records: a generation's info, and a message's `response_metadata` and
 * `additional_kwargs` (Anthropic's client puts it there in a stream).
 */
export function readFinishReason(...records: readonly unknown[]): string | undefined {
  for (const record of records) {
    if (!isRecord(record)) continue;
    const reason =
      FIELDS.map((field) => record[field]).find(isReason) ??
      readFinishReason(record["messageStop"]) ??
      readStatus(record);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function readStatus({ status, incomplete_details: details }: Record<string, unknown>): string | undefined {
  if (typeof status !== "string" || !STATUSES.has(status)) return undefined;
  const reason = isRecord(details) ? details["reason"] : undefined;
  return status === "incomplete" && isReason(reason) ? reason : status;
}

/** DashScope writes `"null"` until the end. */
function isReason(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value !== "null";
}
