/** Which model wrote a message. */

import type { AIMessage } from "@langchain/core/messages";
import type { Target } from "./projection/step.js";

export interface Maker {
  /** As LangChain names it in `response_metadata.model_provider`; undefined if the message does not say. */
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
 * Whether the model that is asked may have written a message: nothing that the message says of its maker speaks
 * against it. Of a dialect that is not known there is only the name of the model.
 */
export function mayHaveWritten(message: AIMessage, { dialect, modelId }: Target): boolean {
  const { provider, model } = readMaker(message);
  const { makers } = dialect;
  if (makers.length > 0 && provider !== undefined && !makers.includes(provider)) return false;
  return model === undefined || modelId === undefined || isSameModel(model, modelId);
}

/** A date or a version of three digits: what a provider appends when it answers for an alias. */
const VERSION = /^[-@](\d{4}-\d{2}-\d{2}|\d{6,8}|\d{3,4}|latest)$/;

/** Whether two names are of one model: the same, or one of them with a version behind it or a path before it. */
function isSameModel(one: string, other: string): boolean {
  const [short, long] = [one, other].map((name) => name.replace(/^.*\//, "")).sort(byLength);
  if (short === undefined || long === undefined) return false;
  return short === long || (long.startsWith(short) && VERSION.test(long.slice(short.length)));
}

function byLength(one: string, other: string): number {
  return one.length - other.length;
}
