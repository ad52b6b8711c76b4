/** Explains why a provider refused a list of messages. */

import { channel } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import type { BrokenRule } from "../../errors.js";
import type { Dialect } from "../contract/dialect.js";
import type { DialectName } from "../contract/dialect-name.js";
import type { RuleName, StatedRule } from "../contract/rule.js";
import { validateHistory } from "../rules/validate-history.js";
import { DIALECT_NAMES, DIALECTS, dialectNamed } from "../table/dialects.js";
import type { ProviderWords } from "./own-words.js";

/** Statuses with which providers refuse the content of a request. */
const BAD_REQUEST: ReadonlySet<number | undefined> = new Set([400, 422]);

/** Whether a provider refuses a request's content with this status. */
export function concernsMessages(status: number | undefined): boolean {
  return BAD_REQUEST.has(status);
}

interface Refusal {
  /** Undefined if the client does not expose it. Then only the provider's text can tell. */
  readonly status: number | undefined;
  /** The text of the provider's error. It can quote the request. */
  readonly text: string;
  readonly words: ProviderWords;
  readonly messages: readonly BaseMessage[];
  /** The dialect for which the messages were prepared. */
  readonly dialect: DialectName;
}

/**
 * The rule that the messages break and that the provider's words name. Only the words decide: the host at an address
 * may belong to another provider than its client. Most refusals have nothing to do with the rules, and a history can
 * break a rule that its provider does not apply.
 *
 * @returns Undefined for a status that does not concern messages, or if the words name no broken rule.
 */
export function explainRefusal({ status, text, words, messages, dialect }: Refusal): BrokenRule | undefined {
  if (status !== undefined && !concernsMessages(status)) return undefined;
  // The rules of `strict` are those of the others, which come before it.
  const names = dialect === "strict" ? DIALECT_NAMES : new Set([dialect, ...DIALECT_NAMES]);
  const said = [...names].flatMap((name) =>
    validateHistory(messages, name)
      .filter(({ rule }) => isNamedIn(words, dialectNamed(name), rule))
      .map(({ rule, index, message }) => ({ dialect: name, rule, index, message })),
  );
  // Of two faults of one kind, the one whose ids and names are in the text.
  const answered = comparable(text);
  return said.find(({ message }) => answered.includes(comparable(message))) ?? said[0];
}

/** The same rules in the words of open model servers. Many come from the model's chat template. */
const OTHER_WORDS: Readonly<Partial<Record<RuleName, RegExp>>> = {
  // vLLM, llama.cpp and others, such as "After the optional system message, conversation roles must alternate
  // user/assistant/user/assistant/..." (vllm-project/vllm#6862, microsoft/autogen#1037); Perplexity
  // (perplexityai/api-discussion#265)
  alternation:
    /conversation roles must alternate|roles should be alternating|should alternate with assistant message/gi,
  // Older models of Anthropic (lobehub/lobehub#1601)
  "first-user": /first message must use the "user" role/gi,
  // Half of a surrogate pair: Cerebras and others that parse JSON with Rust's serde (elizaOS/eliza#18079), and servers
  // in Python.
  "unpaired-surrogate": /lone (?:leading|trailing) surrogate|surrogates not allowed/gi,
  // Mistral's template: "Tool call IDs should be alphanumeric strings with length 9!" (vllm-project/vllm#5649)
  "call-id": /tool call ids should be alphanumeric strings with length/gi,
};

/** Whether the words are those of any provider's rule. Inferred rules have no such words. */
export function namesKnownRule(words: ProviderWords): boolean {
  return (
    Object.values(OTHER_WORDS).some((pattern) => words.say(pattern)) ||
    Object.values<Dialect>(DIALECTS).some(({ rules }) =>
      Object.values(rules).some((rule) => isNamed(words, rule)),
    )
  );
}

function isNamedIn(words: ProviderWords, { rules }: Dialect, name: RuleName): boolean {
  const [rule, other] = [rules[name], OTHER_WORDS[name]];
  return (rule !== undefined && isNamed(words, rule)) || (other !== undefined && words.say(other));
}

function isNamed(words: ProviderWords, rule: StatedRule): boolean {
  return PATTERNS.get(rule)?.every((pattern) => words.say(pattern)) ?? false;
}

/** Shorter parts are between two fields. */
const SHORTEST_PART = 4;

/** What each rule's text says around its fields in braces. Providers count positions differently. */
const PATTERNS: ReadonlyMap<StatedRule, readonly RegExp[]> = new Map(
  Object.values<Dialect>(DIALECTS)
    .flatMap(({ rules }) => Object.values(rules))
    .filter(({ grade }) => grade !== "inferred")
    .map((rule) => [rule, patternsOf(rule.text)]),
);

function patternsOf(text: string): readonly RegExp[] {
  return text
    .replace(/\.$/, "")
    .split(/\{\w+\}/)
    .filter((part) => part.trim().length >= SHORTEST_PART)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\d+/g, "\\d{1,9}"))
    .map((part) => new RegExp(part, "gi"));
}

function comparable(text: string): string {
  return text.replace(/\d+/g, "#").replace(/\s+/g, " ").replace(/\.$/, "").toLowerCase();
}

/*
 * Tells the process's listeners that a provider refused a request for its content.
 */

/** The `node:diagnostics_channel` on which each {@link ModelRefusal} is published. */
export const REFUSAL_CHANNEL = "langgraph-tether:refusal";

/** A request that a provider refused. It contains no text from messages or the provider. */
export interface ModelRefusal {
  /** `overflow`: it was too long. `rule`: it broke a rule, or was refused for another reason. */
  readonly kind: "overflow" | "rule";
  /** The rule's dialect. If no rule is known, the model's. */
  readonly dialect: string;
  /** The rule that the messages break and that the provider's words name. Undefined if there is none. */
  readonly rule: string | undefined;
}

const refusals = channel(REFUSAL_CHANNEL);

export function publishRefusal(refusal: ModelRefusal): void {
  if (refusals.hasSubscribers) refusals.publish(refusal);
}
