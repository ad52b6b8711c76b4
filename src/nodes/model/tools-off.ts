/** Why the model may call no tool. Whatever the reason, a call that it makes all the same is removed, not run. */

import { type AIMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { copyMessage } from "../../history/copy-message.js";
import { deriveId } from "../../history/message-id.js";
import { isBlankMessage, withoutCalls } from "../../history/without-calls.js";
import { retractMessages } from "../../langgraph/retract-messages.js";
import type { ClosingReason } from "../run/agent-state.js";

export type ToolsOffReason =
  | ClosingReason
  /** The required calls have their results, and `afterRequired` asks for an answer. */
  | "after-required"
  /** `toolChoice: "none"`, of the graph, the run or a chat middleware. */
  | "tool-choice"
  /** The graph has none. */
  | "no-tools";

/** What the user reads if an answer has no text of its own. */
const TEXTS: Readonly<Record<ToolsOffReason, string>> = {
  "max-iterations": "I stopped here: the limit of model calls for one turn is reached.",
  "max-tool-calls": "I stopped here: the limit of tool calls for one turn is reached.",
  "max-consecutive-errors": "I stopped here: the tools failed several times in a row.",
  "recursion-limit": "I stopped here: the run's recursion limit is reached.",
  "after-required": "I stopped here: the required tool was called, and no other may be.",
  "tool-choice": "I stopped here: tools are off for this answer.",
  "no-tools": "I stopped here: there is no tool that I could call.",
};

/** Clients have been sent the calls already: that message is taken back, and the rest comes under an id of its own. */
export async function withoutStrayCalls(
  message: AIMessage,
  reason: ToolsOffReason,
  config: RunnableConfig,
): Promise<AIMessage> {
  const { id = "" } = message;
  await retractMessages([new RemoveMessage({ id })], config);
  const rest = withoutCalls(message, () => true);
  const answer = isBlankMessage(rest) ? copyMessage(rest, { content: TEXTS[reason] }) : rest;
  return copyMessage(answer, { id: deriveId(answer, id) });
}
