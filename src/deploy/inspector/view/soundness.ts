/** Which providers would take the stored messages as they are. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { DIALECTS, type DialectName } from "../../../providers/dialects.js";
import { validateHistory } from "../../../providers/validate-history.js";

export const DIALECT_NAMES = Object.keys(DIALECTS) as readonly DialectName[];

export interface DialectSoundness {
  readonly dialect: DialectName;
  /** How many rules the messages break. 0: no known rule refuses them. */
  readonly broken: number;
}

/**
 * What each provider family would refuse if the next message of a user came and the stored messages were sent as they
 * are. What is sent is another form of them, which no known rule refuses.
 */
export function soundnessOf(messages: readonly BaseMessage[]): readonly DialectSoundness[] {
  const sent = [...messages, new HumanMessage("…")];
  return DIALECT_NAMES.map((dialect) => ({ dialect, broken: validateHistory(sent, dialect).length }));
}

export function isDialectName(value: unknown): value is DialectName {
  return DIALECT_NAMES.some((name) => name === value);
}
