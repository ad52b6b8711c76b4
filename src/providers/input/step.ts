/** A step of the projection, and what it says of its changes. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RuleName, Target } from "../rule.js";
import type { InputReasonCode } from "./explain-input.js";

/**
 * One step from the history to messages that a provider accepts. It is made once for a list, and then gets each message
 * of the list, in order. Undefined if the dialect needs no such step.
 *
 * Contract: deterministic. Expects groups in which each tool call has one result, directly after its message and in call
 * order, and keeps them so. The output for a message depends only on that message and those before it, so a prompt cache
 * stays valid when the history grows.
 */
export type Step = (target: Target) => Change | undefined;

/**
 * The message in its new form. Undefined leaves it out. A message without a reason to change keeps its identity.
 *
 * @param index How many messages before it are sent.
 */
export type Change = (message: BaseMessage, index: number) => BaseMessage | undefined;

/**
 * Says what a step did to a message. Each step has one beside it. It reads the difference, and decides nothing.
 *
 * Contract: does not throw, and does not quote the text of messages.
 */
export type StepReason = (change: MadeChange) => {
  readonly code: InputReasonCode;
  /** One sentence. */
  readonly text: string;
  /** The rules that demand it. The first one that the dialect has is named as the source. */
  readonly rules?: readonly RuleName[];
};

/** A change that a step has made. `after` is undefined if the message is left out. */
interface MadeChange {
  readonly before: BaseMessage;
  readonly after: BaseMessage | undefined;
  readonly target: Target;
}
