/** Why the model must not call tools. A call that it makes anyway is removed, not run. */

import { type AIMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isBlankMessage, withoutCalls } from "../../history/calls/without-calls.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { deriveId } from "../../history/messages/message-id.js";
import { retractMessages } from "../../langgraph/retract-messages.js";
import type { ClosingReason } from "../run/agent-state.js";

export type ToolsOffReason =
  | ClosingReason
  /** The required calls have their results, and `afterRequired` asks for a text response. */
  | "after-required"
  /** `toolChoice: "none"` of the graph, the run or a chat middleware. */
  | "tool-choice"
  /** The graph has no tools. */
  | "no-tools";

/** The text for the user if the response has no text of its own. */
export const TOOLS_OFF_TEXTS: Readonly<Record<ToolsOffReason, string>> = {
  "max-iterations": "I stopped here: the limit of model calls for one turn is reached.",
  "max-tool-calls": "I stopped here: the limit of tool calls for one turn is reached.",
  "max-tokens-per-turn": "I stopped here: the limit of tokens for one turn is reached.",
  "max-tokens-per-thread": "I stopped here: the limit of tokens for this thread is reached.",
  "max-tool-calls-per-thread": "I stopped here: the limit of tool calls for this thread is reached.",
  "max-consecutive-errors": "I stopped here: the tools failed several times in a row.",
  "recursion-limit": "I stopped here: the run's recursion limit is reached.",
  "after-required": "I stopped here: the required tool was called, and no other call is allowed.",
  "tool-choice": "I stopped here: tools are off for this response.",
  "no-tools": "I stopped here: there is no tool to call.",
};

/** Clients have already received the calls. So that message is retracted, and the rest is sent under a new id. */
export async function withoutStrayCalls(
  message: AIMessage,
  reason: ToolsOffReason,
  config: RunnableConfig,
): Promise<AIMessage> {
  const { id = "" } = message;
  await retractMessages([new RemoveMessage({ id })], config);
  const rest = withoutCalls(message, () => true);
  const answer = isBlankMessage(rest) ? copyMessage(rest, { content: TOOLS_OFF_TEXTS[reason] }) : rest;
  return copyMessage(answer, { id: deriveId(answer, id) });
}
