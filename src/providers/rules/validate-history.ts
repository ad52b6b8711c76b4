/** Checks a history against the rules of a dialect. */

import type { BaseMessage } from "@langchain/core/messages";
import { soundMessages } from "../../history/read-messages.js";
import type { Dialect } from "../contract/dialect.js";
import type { DialectName } from "../contract/dialect-name.js";
import type { Grade, RuleName } from "../contract/rule.js";
import { targetOf, withCertainRules } from "../table/dialects.js";
import { type Fault, toSentMessages } from "./rule.js";
import { RULES } from "./rules.js";

/** A rule of a provider that a message breaks. */
export interface Violation {
  readonly rule: RuleName;
  /** The index in the message list. A provider may count differently: without the system message, or after merging. */
  readonly index: number;
  /** The provider's error, in its own words if they are known. */
  readonly message: string;
  /** How well it is known that the provider rejects this. */
  readonly grade: Grade;
}

/**
 * Tells why a provider would reject these messages as its LangChain client sends them: the broken rules, their places
 * and the provider's error messages. Empty if the provider would accept them.
 *
 * @param dialect The provider family, such as `"openai"`; see {@link dialectOf}.
 * @param modelId The model's name. Undefined: only rules that all of the provider's models are known to have.
 * @throws InvalidSettingError for an unknown dialect.
 * @throws InvalidMessageError if `messages` is not a list of messages.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { validateHistory } from "langgraph-tether";
 *
 * const violations = validateHistory(
 *   [
 *     new HumanMessage("What is the weather?"),
 *     new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *     new HumanMessage("Are you there?"),
 *   ],
 *   "openai",
 * );
 * console.log(violations.map(({ rule, index }) => `${rule} at ${index}`)); // [ 'missing-result at 1' ]
 * ```
 */
export function validateHistory(
  messages: readonly BaseMessage[],
  dialect: DialectName,
  modelId?: string,
): Violation[] {
  return violationsIn(messages, dialect, modelId).map(({ ids: _, ...violation }) => violation);
}

type FoundViolation = Violation & { readonly ids: readonly string[] };

/** The same, with the ids that each violation is about. */
export function violationsIn(
  messages: readonly BaseMessage[],
  name: DialectName,
  modelId?: string,
): FoundViolation[] {
  const { dialect } = targetOf({ dialect: name, modelId });
  return brokenRules(messages, modelId === undefined ? withCertainRules(dialect) : dialect);
}

/** The same for a dialect with the rules that count. */
export function brokenRules(messages: readonly BaseMessage[], dialect: Dialect): FoundViolation[] {
  const sent = toSentMessages(soundMessages(messages), dialect);
  const violations = RULES.flatMap(({ name, find }) => {
    const stated = dialect.rules[name];
    if (stated === undefined) return [];
    return Array.from(find(sent, dialect), (fault) => {
      const { index, id, ids = id === undefined ? [] : [id] } = fault;
      return { rule: name, index, message: fill(stated.text, fault), grade: stated.grade, ids };
    });
  });
  return violations.sort((one, other) => one.index - other.index);
}

function fill(text: string, fault: Fault): string {
  return text.replace(/\{(ids|id|name|index|next)\}/g, (_, place: keyof Fault) =>
    [fault[place] ?? ""].flat().join(", "),
  );
}
