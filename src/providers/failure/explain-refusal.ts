/** Why a provider may have refused a list of messages. */

import type { BaseMessage } from "@langchain/core/messages";
import type { BrokenRule } from "../../errors.js";
import { DIALECTS, type DialectName } from "../dialects/dialects.js";
import { validateHistory } from "../dialects/validate-history.js";

/** Statuses with which providers refuse what a request says. */
const BAD_REQUEST: ReadonlySet<number> = new Set([400, 422]);

export interface Refusal {
  /** Undefined where the client keeps it to itself: then only the provider's words can tell. */
  readonly status: number | undefined;
  /** What the provider answered. */
  readonly text: string;
  /** What was sent. */
  readonly messages: readonly BaseMessage[];
  /** Whose rules the messages were made to keep. */
  readonly dialect: DialectName;
}

/**
 * The rule that the messages break: one in whose words the provider answered, for the host behind an address may be
 * another than its client's; else the first of their own dialect; else the first of any known provider, which is no more
 * than a possibility.
 *
 * @returns Undefined for a status that has nothing to do with messages, or if no rule is broken.
 */
export function explainRefusal({ status, text, messages, dialect }: Refusal): BrokenRule | undefined {
  if (status !== undefined && !BAD_REQUEST.has(status)) return undefined;
  const rulesOf = (name: DialectName): BrokenRule[] =>
    validateHistory(messages, name).map(({ rule, index, message }) => ({
      dialect: name,
      rule,
      index,
      message,
    }));
  const own = rulesOf(dialect);
  const [possible] = own.length > 0 ? own : rulesOf("strict");
  const ofProviders = (Object.keys(DIALECTS) as DialectName[])
    .filter((name) => name !== dialect && name !== "strict")
    .flatMap(rulesOf);
  const answered = comparable(text);
  const inItsWords = [...(dialect === "strict" ? [] : own), ...ofProviders].find(({ message }) =>
    answered.includes(comparable(message)),
  );
  if (inItsWords !== undefined || status === undefined) return inItsWords;
  if (possible?.dialect !== "strict") return possible;
  // `strict` has its rules from others.
  return (
    ofProviders.find(({ message, index }) => message === possible.message && index === possible.index) ??
    possible
  );
}

/** Places are counted differently, so they do not count. */
function comparable(text: string): string {
  return text.replace(/\d+/g, "#").replace(/\s+/g, " ").toLowerCase();
}
