import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { placeOfCall } from "../history/group.js";
import { createPlaceholder, type PlaceholderCause } from "../history/result.js";
import { emitEvent } from "./agent-event.js";
import type { AgentState, AgentUpdate } from "./agent-state.js";
import { harvestResults } from "./harvest.js";
import { type UnansweredCall, unansweredCalls } from "./open-calls.js";
import { countStep, runHandleOf } from "./run-handle.js";

/**
 * Closes dangling calls: with the result that the tool had returned before its run ended, if it can still be
 * found, else with a placeholder that says what is known and no more. A call of the open group gets only a result
 * that was found. Runs no tool.
 */
export async function patch({ messages }: AgentState, config: LangGraphRunnableConfig): Promise<AgentUpdate> {
  countStep(config);
  const { dangling, pending } = unansweredCalls(messages);
  const calls = [...dangling, ...pending];
  const found = await harvestResults(calls, runHandleOf(config));
  const closing: BaseMessage[] = [];
  for (const [index, unanswered] of calls.entries()) {
    const { call, group } = unanswered;
    const result = found[index];
    if (result !== undefined) {
      closing.push(result);
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    } else if (index < dangling.length) {
      const cause = causeOf(unanswered, messages);
      closing.push(createPlaceholder(call, cause, placeOfCall(group, group.calls.indexOf(call))));
      emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
    }
  }
  return closing.length === 0 ? {} : { messages: closing };
}

function causeOf({ call, group }: UnansweredCall, messages: readonly BaseMessage[]): PlaceholderCause {
  if (call.kind === "invalid") return "invalid-arguments";
  return messages[group.end]?.type === "human" ? "superseded" : "unrecorded";
}
