import type { BaseMessage } from "@langchain/core/messages";
import { type CheckpointTuple, INTERRUPT, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { placeOfCall } from "../history/group.js";
import { createPlaceholder, type PlaceholderCause } from "../history/result.js";
import { emitEvent } from "./agent-event.js";
import type { AgentState, AgentUpdate } from "./agent-state.js";
import { askedCallIds } from "./approval-request.js";
import { harvestResults } from "./harvest.js";
import { type UnansweredCall, unansweredCalls } from "./open-calls.js";
import { countStep, runHandleOf } from "./run-handle.js";

/** The ids of the calls for which an abandoned run was waiting for a human. Ids may repeat; its last group is meant. */
function askedCalls(abandoned: CheckpointTuple | undefined): ReadonlySet<string> {
  const writes = abandoned?.pendingWrites ?? [];
  return new Set(writes.flatMap(([, channel, value]) => (channel === INTERRUPT ? askedCallIds(value) : [])));
}

/**
 * Closes dangling calls: with the result that the tool had returned before its run ended, if it can still be
 * found, else with a placeholder that says what is known and no more. A call of the open group gets only a result
 * that was found. Runs no tool.
 */
export async function patch({ messages }: AgentState, config: LangGraphRunnableConfig): Promise<AgentUpdate> {
  countStep(config);
  const { dangling, pending } = unansweredCalls(messages);
  const calls = [...dangling, ...pending];
  const handle = runHandleOf(config);
  const found = await harvestResults(calls, handle?.checkpoints);
  const asked = askedCalls(handle?.checkpoints.abandoned);
  // An answer given without the model comes behind the open group, too.
  const closes = handle?.given === undefined ? dangling.length : calls.length;
  const closing: BaseMessage[] = [];
  for (const [index, unanswered] of calls.entries()) {
    const { call, group } = unanswered;
    const result = found[index];
    if (result !== undefined) {
      closing.push(result);
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    } else if (index < closes) {
      const cause = causeOf(unanswered, messages, asked);
      closing.push(createPlaceholder(call, cause, placeOfCall(group, group.calls.indexOf(call))));
      emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
    }
  }
  return closing.length === 0 ? {} : { messages: closing };
}

function causeOf(
  { call, group }: UnansweredCall,
  messages: readonly BaseMessage[],
  asked: ReadonlySet<string>,
): PlaceholderCause {
  if (call.kind === "invalid") return "invalid-arguments";
  if (asked.has(call.id)) return "declined";
  return messages[group.end]?.type === "human" ? "superseded" : "unrecorded";
}
