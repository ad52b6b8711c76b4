/** Which model wrote a message. */

import type { AIMessage } from "@langchain/core/messages";
import type { Dialect } from "./rule.js";

/** The model that a request is made for. */
export interface Target {
  readonly dialect: Dialect;
  /** The name of the model that gets the request. Undefined if it is not known. */
  readonly modelId: string | undefined;
}

export interface Maker {
  /** The name in LangChain's `response_metadata.model_provider`. Undefined if the message does not say. */
  readonly provider: string | undefined;
  readonly model: string | undefined;
}

export function readMaker({ response_metadata }: AIMessage): Maker {
  const read = (name: string): string | undefined => {
    const value: unknown = response_metadata?.[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return { provider: read("model_provider"), model: read("model_name") ?? read("model") };
}

/**
 * Whether the target model may have written a message, so nothing in the message names another author. For an unknown
 * dialect, only the name of the model can be compared.
 */
export function mayHaveWritten(message: AIMessage, { dialect, modelId }: Target): boolean {
  const { provider, model } = readMaker(message);
  const { makers } = dialect;
  if (makers.length > 0 && provider !== undefined && !makers.includes(provider)) return false;
  return model === undefined || modelId === undefined || isSameModel(model, modelId);
}

/** A date or a version of three digits. A provider appends it when it resolves an alias. */
const VERSION = /^[-@](\d{4}-\d{2}-\d{2}|\d{6,8}|\d{3,4}|latest)$/;

/** Whether two names mean the same model: they are equal, or one has a version after it or a path before it. */
function isSameModel(one: string, other: string): boolean {
  const [short, long] = [one, other].map((name) => name.replace(/^.*\//, "")).sort(byLength);
  if (short === undefined || long === undefined) return false;
  return short === long || (long.startsWith(short) && VERSION.test(long.slice(short.length)));
}

function byLength(one: string, other: string): number {
  return one.length - other.length;
}
