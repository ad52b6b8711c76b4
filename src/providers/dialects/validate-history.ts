import type { BaseMessage } from "@langchain/core/messages";
import { soundMessages } from "../../history/reading/read-messages.js";
import { type DialectName, dialectNamed } from "./dialects.js";
import type { Grade, RuleName } from "./rule.js";
import type { Check, FaultValues } from "./validation/check.js";
import { checkContent } from "./validation/check-content.js";
import { checkNames } from "./validation/check-names.js";
import { checkOrder } from "./validation/check-order.js";
import { checkPairing } from "./validation/check-pairing.js";
import { checkState } from "./validation/check-state.js";
import { toSentMessages } from "./validation/sent-message.js";

/** A rule of a provider that a message breaks. */
export interface Violation {
  readonly rule: RuleName;
  /** The index in the message list. A provider may count differently: without the system message, or after merging. */
  readonly index: number;
  /** The error of the provider, in its own words where they are known. */
  readonly message: string;
  /** How well it is known that the provider rejects this. */
  readonly grade: Grade;
}

const CHECKS: readonly Check[] = [checkPairing, checkNames, checkContent, checkOrder, checkState];

/**
 * Tells why a provider would reject these messages, in the form in which its LangChain client sends them: the
 * broken rules, their places and the provider's error messages. Empty if the provider would accept them.
 *
 * @param dialect The provider family, such as `"openai"`; see {@link dialectOf}.
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
export function validateHistory(messages: readonly BaseMessage[], dialect: DialectName): Violation[] {
  return violationsAt(messages, dialect, (index) => index);
}

/** @param placeOf The index that a violation, and the provider's words for it, give to the message at an index. */
export function violationsAt(
  messages: readonly BaseMessage[],
  dialect: DialectName,
  placeOf: (index: number) => number,
): Violation[] {
  const entry = dialectNamed(dialect);
  const sent = toSentMessages(soundMessages(messages), entry);
  const violations: Violation[] = [];
  for (const check of CHECKS)
    check(sent, entry, (name, index, values) => {
      const rule = entry.rules[name];
      if (rule === undefined) return;
      const next = values?.next === undefined ? {} : { next: placeOf(values.next) };
      const place = placeOf(index);
      const message = fill(rule.text, { ...values, ...next, index: place });
      violations.push({ rule: name, index: place, message, grade: rule.grade });
    });
  return violations.sort((one, other) => one.index - other.index);
}

function fill(text: string, values: FaultValues & { readonly index: number }): string {
  return text.replace(/\{(ids|id|name|index|next)\}/g, (_, place: keyof typeof values) =>
    String(values[place] ?? ""),
  );
}
