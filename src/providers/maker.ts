/** Which model wrote a message. */

import type { AIMessage } from "@langchain/core/messages";

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

/** A date or a version of three digits: what a provider appends when it answers for an alias. */
const VERSION = /^[-@](\d{4}-\d{2}-\d{2}|\d{6,8}|\d{3,4}|latest)$/;

/** Whether two names are of one model: the same, or one of them with a version behind it. */
export function isSameModel(one: string, other: string): boolean {
  const [short, long] = [one, other].map((name) => name.replace(/^models\//, "")).sort(byLength);
  if (short === undefined || long === undefined) return false;
  return short === long || (long.startsWith(short) && VERSION.test(long.slice(short.length)));
}

function byLength(one: string, other: string): number {
  return one.length - other.length;
}
