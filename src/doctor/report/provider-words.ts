/** What a provider says about the messages of a thread. */

import type { BaseMessage } from "@langchain/core/messages";
import type { DialectName } from "../../providers/dialects/dialects.js";
import type { RuleName } from "../../providers/dialects/rule.js";
import { type Violation, validateHistory } from "../../providers/dialects/validate-history.js";

/** The rules that have a finding of their own, under `pairing/`. */
export const PAIRING_RULES: ReadonlySet<RuleName> = new Set<RuleName>([
  "missing-result",
  "orphan-result",
  "duplicate-result",
  "result-order",
  "repeated-call-id",
]);

/** The violations of the messages, without those of messages that are not stored. */
export function violationsOf(
  messages: readonly BaseMessage[],
  dialect: DialectName,
  stored: number,
): Violation[] {
  return validateHistory(messages, dialect).filter(({ index }) => index < stored);
}

/**
 * The provider's words for a fault at one of these messages. Null if it would not refuse the fault, or if nobody knows
 * its words.
 */
export function wordsFor(
  violations: readonly Violation[],
  rules: readonly RuleName[],
  places: readonly number[],
): string | null {
  const known = violations.filter(({ rule, grade }) => rules.includes(rule) && grade !== "inferred");
  return known.find(({ index }) => places.includes(index))?.message ?? null;
}
