/** Explains why a provider may have refused a list of messages. */

import { channel } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import type { BrokenRule } from "../../errors.js";
import { DIALECT_NAMES, DIALECTS, type DialectName } from "../dialects.js";
import type { Dialect } from "../rule.js";
import { validateHistory } from "../validate-history.js";

/** Statuses with which providers refuse the content of a request. */
const BAD_REQUEST: ReadonlySet<number | undefined> = new Set([400, 422]);

/** Whether a provider refuses the content of a request with this status. */
export function concernsMessages(status: number | undefined): boolean {
  return BAD_REQUEST.has(status);
}

interface Refusal {
  /** Undefined where the client does not expose it. Then only the provider's text can tell. */
  readonly status: number | undefined;
  /** The text of the provider's error. */
  readonly text: string;
  /** The messages that were sent. */
  readonly messages: readonly BaseMessage[];
  /** The dialect for which the messages were prepared. */
  readonly dialect: DialectName;
}

/**
 * The rule that the messages break. The order of preference:
 *
 * 1. A rule whose text the provider used. The host at an address may belong to another provider than its client.
 * 2. The first broken rule of the messages' own dialect.
 * 3. The first broken rule of any known provider, which is only a possibility.
 *
 * @returns Undefined for a status that does not concern messages, or if no rule is broken.
 */
export function explainRefusal({ status, text, messages, dialect }: Refusal): BrokenRule | undefined {
  if (status !== undefined && !concernsMessages(status)) return undefined;
  const names = dialect === "strict" ? DIALECT_NAMES : new Set([dialect, ...DIALECT_NAMES]);
  const broken = [...names].flatMap((name) =>
    validateHistory(messages, name).map(({ rule, index, message }) => ({
      dialect: name,
      rule,
      index,
      message,
    })),
  );
  const answered = comparable(text);
  const inItsWords = broken.find(({ message }) => answered.includes(comparable(message)));
  if (inItsWords !== undefined || status === undefined) return inItsWords;
  const firstOf = (name: DialectName) => broken.find((one) => one.dialect === name);
  const possible = firstOf(dialect) ?? firstOf("strict");
  // `strict` takes its rules from the other dialects, which stand before it.
  return broken.find(({ message, index }) => message === possible?.message && index === possible.index);
}

/** The same rules in the words of servers of open models. Many come from the chat template of the model. */
const OTHER_WORDS: readonly RegExp[] = [
  // vLLM, llama.cpp and others, such as "After the optional system message, conversation roles must alternate
  // user/assistant/user/assistant/..." (vllm-project/vllm#6862, microsoft/autogen#1037)
  /conversation roles must alternate/,
  // Half of a surrogate pair: Cerebras and others that parse JSON with Rust's serde (elizaOS/eliza#18079), and servers
  // in Python.
  /lone (?:leading|trailing) surrogate|surrogates not allowed/,
  // Perplexity (perplexityai/api-discussion#265)
  /roles should be alternating|should alternate with assistant message/,
  // Mistral's template: "Tool call IDs should be alphanumeric strings with length 9!" (vllm-project/vllm#5649)
  /tool call ids should be alphanumeric strings with length/,
];

/** Whether the text has the words of a rule of any provider. The rules that nobody has stated have no such words. */
export function namesKnownRule(text: string): boolean {
  const answered = comparable(text);
  if (OTHER_WORDS.some((words) => words.test(answered))) return true;
  return Object.values<Dialect>(DIALECTS).some(({ rules }) =>
    Object.values(rules).some((rule) => rule.grade !== "inferred" && patternOf(rule.text).test(answered)),
  );
}

/** A text with its fields in braces as a pattern. */
function patternOf(text: string): RegExp {
  const parts = text
    .split(/\{\w+\}/)
    .map((part) => comparable(part).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(parts.join(".*?"));
}

/** Providers count positions differently, so numbers are ignored. Their sentences can be longer than we quote them. */
function comparable(text: string): string {
  return text.replace(/\d+/g, "#").replace(/\s+/g, " ").replace(/\.$/, "").toLowerCase();
}

/*
 * Tells listeners of the process that a provider refused a request for what is in it.
 */

/** The `node:diagnostics_channel` on which each {@link ModelRefusal} is published. */
export const REFUSAL_CHANNEL = "langgraph-tether:refusal";

/** A request that a provider refused. It has no text of messages, and no text of the provider. */
export interface ModelRefusal {
  /** `overflow`: it was too long. `rule`: it broke a rule, or was refused for an unknown reason. */
  readonly kind: "overflow" | "rule";
  /** The dialect of the rule. If no rule is known, that of the model. */
  readonly dialect: string;
  /** The rule that was probably broken. Undefined if none is known. */
  readonly rule: string | undefined;
}

const refusals = channel(REFUSAL_CHANNEL);

export function publishRefusal(refusal: ModelRefusal): void {
  if (refusals.hasSubscribers) refusals.publish(refusal);
}
