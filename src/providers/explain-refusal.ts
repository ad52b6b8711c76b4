/** Why a provider may have refused a list of messages. */

import type { BaseMessage } from "@langchain/core/messages";
import type { BrokenRule } from "../errors.js";
import { DIALECTS, type DialectName } from "./dialects.js";
import { validateHistory } from "./validate-history.js";

/** Statuses with which providers refuse what a request says. */
const BAD_REQUEST: ReadonlySet<number> = new Set([400, 422]);

export interface Refusal {
  readonly status: number;
  /** What the provider answered. */
  readonly text: string;
  /** What was sent. */
  readonly messages: readonly BaseMessage[];
  /** Whose rules the messages were made to keep. */
  readonly dialect: DialectName;
}

/**
 * The first rule that the messages break: of their own dialect; else of the one whose words the provider used, for the
 * host behind an address may be another than its client's; else of `strict`, which is no more than a possibility.
 *
 * @returns Undefined for a status that has nothing to do with messages, or if no rule is broken.
 */
export function explainRefusal({ status, text, messages, dialect }: Refusal): BrokenRule | undefined {
  if (!BAD_REQUEST.has(status)) return undefined;
  const rulesOf = (name: DialectName): BrokenRule[] =>
    validateHistory(messages, name).map(({ rule, index, message }) => ({
      dialect: name,
      rule,
      index,
      message,
    }));
  const others = (Object.keys(DIALECTS) as DialectName[]).filter((name) => name !== "strict");
  const answered = comparable(text);
  return (
    rulesOf(dialect)[0] ??
    others.flatMap(rulesOf).find(({ message }) => answered.includes(comparable(message))) ??
    rulesOf("strict")[0]
  );
}

/** Places are counted differently, so they do not count. */
function comparable(text: string): string {
  return text.replace(/\d+/g, "#").replace(/\s+/g, " ").toLowerCase();
}
