/** What a provider says about the messages of a thread. */

import type { BaseMessage } from "@langchain/core/messages";
import type { DialectName } from "../../providers/dialects/dialects.js";
import type { RuleName } from "../../providers/dialects/rule.js";
import { type Violation, validateHistory } from "../../providers/dialects/validate-history.js";
import { addToList } from "../../shared/add-to-list.js";

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

/** The words of the provider, by the index of the message that breaks a rule. */
export type WordsAt = ReadonlyMap<number, readonly Violation[]>;

/** Those that somebody has seen. */
export function wordsAt(violations: readonly Violation[]): WordsAt {
  const at = new Map<number, Violation[]>();
  for (const violation of violations)
    if (violation.grade !== "inferred") addToList(at, violation.index, violation);
  return at;
}

/**
 * The provider's words for a fault at one of these messages. Null if it would not refuse the fault, or if nobody knows
 * its words.
 */
export function wordsFor(
  words: WordsAt,
  rules: readonly RuleName[],
  places: readonly number[],
): string | null {
  const known = [...places]
    .sort((one, other) => one - other)
    .flatMap((place) => words.get(place) ?? [])
    .find(({ rule }) => rules.includes(rule));
  return known?.message ?? null;
}
