import type { Dialect, RuleName } from "../rule.js";
import type { SentMessage } from "./sent-message.js";

/** One place where a rule is broken, with the values for the text of the rule. */
export interface Fault {
  readonly rule: RuleName;
  readonly index: number;
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly next?: number;
}

/** Contract: pure. Finds every fault of its kind, even if the dialect does not have the rule. */
export type Check = (messages: readonly SentMessage[], dialect: Dialect) => readonly Fault[];
