/** Closes the calls that an earlier run left without a result. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { placeOfCall } from "../history/calls/group.js";
import { type UnansweredCall, unansweredCalls } from "../history/calls/open-calls.js";
import { createRepair } from "../history/messages/repair.js";
import { causeInHistory, createPlaceholder, type PlaceholderCause } from "../history/messages/result.js";
import { isBeforeModel, savedCheckpoints } from "../langgraph/checkpoints/saved-checkpoints.js";
import { findLeftovers, type Leftovers } from "../nodes/recovery/leftovers.js";
import { recoverCalls } from "../nodes/recovery/recover-calls.js";
import { emitEvent } from "../nodes/run/agent-event.js";
import { safely } from "../shared/safely.js";
import { declinedCalls } from "./declined-calls.js";
import type { TetherMiddlewareOptions } from "./options.js";
import { configOf, type HookRuntime, threadIdOf } from "./runtime.js";

/**
 * The results that close all calls of the history, to be written to the thread. A call gets the result that its tool
 * returned before its run ended, if it can be found. Otherwise it gets a placeholder that says what is known. Empty if
 * every call has a result, which costs one look at the history.
 */
export async function closeCalls(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  { onRepair }: Pick<TetherMiddlewareOptions, "onRepair">,
): Promise<ToolMessage[]> {
  const { dangling, pending } = unansweredCalls(history);
  const calls = [...dangling, ...pending];
  if (calls.length === 0) return [];
  const config = configOf(runtime);
  const leftovers = await readLeftovers(runtime);
  const found = recoverCalls(calls, leftovers);
  const declined = declinedCalls(calls, leftovers);
  return calls.map((unanswered, index) => {
    const { call, group } = unanswered;
    const remains = found[index];
    if (remains?.kind === "result") {
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
      return remains.result;
    }
    const cause = declined.has(unanswered) ? "declined" : causeOf(unanswered, history);
    const placeholder = createPlaceholder(call, cause, placeOfCall(group, group.calls.indexOf(call)));
    emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
    const repair = createRepair({ kind: "call-closed", call, message: placeholder });
    safely(() => onRepair?.(repair, { threadId: threadIdOf(runtime) }), undefined);
    return placeholder;
  });
}

function causeOf({ call, group }: UnansweredCall, history: readonly BaseMessage[]): PlaceholderCause {
  return causeInHistory(call, history[group.end]);
}

/** A saver that cannot be read does not fail the run: its calls get placeholders. */
async function readLeftovers(runtime: HookRuntime): Promise<readonly Leftovers[]> {
  try {
    const checkpoints = await savedCheckpoints(configOf(runtime));
    if (checkpoints === undefined) return [];
    return await findLeftovers({ input: {}, checkpoints, ownState: { keys: [] } }, isBeforeModel);
  } catch {
    return [];
  }
}
