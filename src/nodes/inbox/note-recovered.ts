import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { MARKS } from "../../history/messages/marks.js";
import type { AgentState, AgentUpdate } from "../run/agent-state.js";
import { runRecordOf } from "../run/run-handle.js";

/**
 * The part of an update that notes which recovered messages came from the inbox. Their items may still be there, and
 * the channel that said so is not recovered.
 */
export function noteRecovered(
  recovered: readonly BaseMessage[],
  { steered = [] }: AgentState,
  config: RunnableConfig,
): Pick<AgentUpdate, "steered"> {
  const ids = recovered.flatMap(({ id, additional_kwargs }) =>
    id !== undefined && additional_kwargs[MARKS.steered] !== undefined ? [id] : [],
  );
  for (const id of ids) runRecordOf(config)?.steered.add(id);
  return ids.length === 0 ? {} : { steered: [...steered, ...ids] };
}
