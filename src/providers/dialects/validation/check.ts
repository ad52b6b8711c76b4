import type { Dialect, RuleName } from "../rule.js";
import type { SentMessage } from "./sent-message.js";

/** The values for the places in the text of a rule. */
export interface FaultValues {
  readonly id?: string;
  readonly ids?: string;
  readonly name?: string;
  readonly next?: number;
}

/** Notes that the message at the index breaks a rule. */
export type ReportFault = (rule: RuleName, index: number, values?: FaultValues) => void;

/** Contract: changes nothing. Reports every fault of its kind, even if the dialect does not have the rule. */
export type Check = (messages: readonly SentMessage[], dialect: Dialect, report: ReportFault) => void;
