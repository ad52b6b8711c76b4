/** All rules, in the order in which the model input keeps them. */

import type { RuleName } from "../contract/rule.js";
import { CACHE_MARKS, CLEAN_BLOCKS, TEXT_FIELDS } from "./blocks.js";
import { LISTED_CALLS, NAMED_CALLS } from "./calls.js";
import { STORED_ITEMS } from "./items.js";
import { ORDER_RULES } from "./order.js";
import { PAIR_RULES } from "./pairs.js";
import { PASSED_REASONING } from "./reasoning.js";
import type { HistoryRule, InputStep } from "./rule.js";
import { OWN_STATE } from "./state.js";
import { FILLED_MESSAGES, WHOLE_TEXTS } from "./texts.js";

export const RULES: readonly HistoryRule[] = [
  ...PAIR_RULES,
  ...LISTED_CALLS,
  WHOLE_TEXTS,
  OWN_STATE,
  TEXT_FIELDS,
  ...CLEAN_BLOCKS,
  ...FILLED_MESSAGES,
  ...NAMED_CALLS,
  ...STORED_ITEMS,
  PASSED_REASONING,
  ...ORDER_RULES,
  CACHE_MARKS,
];

/** The steps that change messages one by one. Each reads from the dialect what to do. */
export const STEPS: readonly InputStep[] = [...new Set(RULES.flatMap(({ step }) => step ?? []))];

const BY_NAME = new Map(RULES.map((rule) => [rule.name, rule]));

export function ruleNamed(name: RuleName): HistoryRule {
  return BY_NAME.get(name) as HistoryRule;
}
