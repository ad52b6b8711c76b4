/** A step of the projection. */

import type { BaseMessage } from "@langchain/core/messages";
import type { Target } from "../contract/rule.js";

/**
 * One step from the history to messages that a provider accepts. It is made once for a list, and then gets the list's
 * messages in order.
 *
 * Contract: deterministic. Expects groups in which each tool call has one result, directly after its message and in
 * call order, and keeps them so. The output for a message depends only on that message and those before it, so a prompt
 * cache stays valid when the history grows.
 */
export type Step = (target: Target) => Change;

/**
 * The message in its new form. Undefined leaves it out. A message without a reason to change keeps its identity.
 *
 * @param index How many messages are sent before it, without system messages.
 */
export type Change = (message: BaseMessage, index: number) => BaseMessage | undefined;
