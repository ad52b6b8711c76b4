import type { BaseMessage } from "@langchain/core/messages";
import { Command, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { placeOfCall } from "../../history/calls/group.js";
import { unansweredCalls } from "../../history/calls/open-calls.js";
import { causeInHistory, createPlaceholder } from "../../history/messages/result.js";
import { emitEvent } from "../run/agent-event.js";
import type { AgentState, AgentUpdate } from "../run/agent-state.js";
import { runInputsOf } from "../run/run-handle.js";
import { pendingApprovals } from "./pending-approvals.js";
import { recoverCalls } from "./recover-calls.js";

/**
 * Closes dangling calls. A call gets the result that its tool returned before its run ended, if it can be found.
 * Otherwise it gets a placeholder that says what is known. A call of the open group only gets a result that was
 * found. If it waited for a human, the question is repeated. This node runs no tool.
 */
export async function patch(
  { messages }: AgentState,
  config: LangGraphRunnableConfig,
): Promise<AgentUpdate | Command<unknown, AgentUpdate, "approve">> {
  const { dangling, pending } = unansweredCalls(messages);
  const calls = [...dangling, ...pending];
  const inputs = runInputsOf(config);
  const found = await recoverCalls(calls, inputs?.checkpoints);
  // A response that a middleware set follows the open group too, so its calls are closed as well.
  const closes = inputs?.given === undefined ? dangling.length : calls.length;
  const closing: BaseMessage[] = [];
  for (const [index, unanswered] of calls.entries()) {
    const { call, group } = unanswered;
    const remains = found[index];
    if (remains?.kind === "result") {
      closing.push(remains.result);
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    } else if (index < closes || (inputs?.endsAfterInput && remains?.kind === "question")) {
      const cause = remains?.kind === "question" ? "declined" : causeInHistory(call, messages[group.end]);
      closing.push(createPlaceholder(call, cause, placeOfCall(group, group.calls.indexOf(call))));
      emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
    }
  }
  const update = closing.length === 0 ? {} : { messages: closing };
  const question = inputs?.endsAfterInput
    ? undefined
    : pendingApprovals(calls.slice(closes), found.slice(closes));
  return question === undefined ? update : new Command({ update, goto: [new Send("approve", question)] });
}
