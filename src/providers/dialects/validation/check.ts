import type { Dialect, RuleName } from "../rule.js";
import type { SentMessage } from "./sent-message.js";

/** One place at which a rule is broken, and what its text says of it. */
export interface Fault {
  readonly rule: RuleName;
  readonly index: number;
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly next?: number;
}

/** Contract: pure; finds every fault of its kind, whether or not the dialect has the rule. */
export type Check = (messages: readonly SentMessage[], dialect: Dialect) => readonly Fault[];
