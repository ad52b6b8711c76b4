/** What hosts with OpenAI's protocol do with the fields that they add to its messages: see `host-fields`. */

import type { Fields } from "./dialect.js";

/** The field for reasoning that DeepSeek's models want back as plain text. Every LangChain client reads it. */
export const REASONING_FIELD = "reasoning_content";
/** The name that OpenAI recommends for the same (vllm-project/vllm/issues/27755). */
export const RENAMED_REASONING = "reasoning";
export const DETAILS = "reasoning_details";

/** Whether a field says anything. */
export function isGiven(value: unknown): boolean {
  return (
    value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)
  );
}

/** What is known about a host. */
export interface HostFields {
  readonly host: RegExp;
  /** The fields that it accepts, if it is known to refuse others. Undefined: those that it gave. */
  readonly accepts?: readonly string[];
  /** Contract: returns the response with its first call signed, and the same one if nothing is missing. */
  readonly signed?: (message: Fields, modelId: string) => Fields;
}
