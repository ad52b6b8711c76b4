/** Finds the result of a call whose run was killed before it could save its checkpoint, and is continued. */

import type { BaseMessage } from "@langchain/core/messages";
import { type CheckpointTuple, isCommand, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../../history/messages/call.js";
import { markRecoveredResult } from "../../history/messages/recovered.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/messages/result.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { tasksOfLostRun } from "../../langgraph/checkpoints/abandoned-checkpoint.js";
import { readHistory } from "../../langgraph/checkpoints/read-history.js";
import { isResumedWith } from "../../langgraph/checkpoints/resume-values.js";
import { stepOf } from "../../langgraph/step-of.js";
import type { AgentUpdate } from "../run/agent-state.js";
import { runInputsOf } from "../run/run-handle.js";
import type { ToolTask } from "../tools/tool-task.js";

/**
 * The messages that the tool of this call has written in the same superstep, with its result. Undefined if there are
 * none, or if a human has decided otherwise since.
 */
export function savedMessages(
  { call, place, index }: ToolTask,
  config: LangGraphRunnableConfig,
): AgentUpdate["messages"] {
  const { input, checkpoints } = runInputsOf(config) ?? {};
  const step = stepOf(config);
  const tuple = checkpoints?.abandoned;
  if (tuple === undefined || checkpoints?.isFork || step === undefined || !continues(tuple, input))
    return undefined;
  const isOfCall = (message: BaseMessage) =>
    isResult(message) && callIdOf(message) === call.id && !isPlaceholder(message);
  const found = tasksOfLostRun(tuple, step, "messages")
    .map((values) => values.flat().flatMap((value) => coerceMessage(value) ?? []))
    .filter((messages) => messages.some(isOfCall));
  const [messages] = found;
  // Two calls of one message can have one id. Nobody knows to which of them a result belongs.
  const head = readHistory(config)?.messages.findLast((message) => `${message.id}:${index}` === place);
  const isOnly = head !== undefined && callsOf(head).filter(({ id }) => id === call.id).length === 1;
  if (messages === undefined || !isOnly) return undefined;
  return messages.map((message) => {
    if (isResult(message)) return isOfCall(message) ? markRecoveredResult(message) : message;
    return isAIMessage(message) ? toPlain(message) : message;
  });
}

function continues(tuple: CheckpointTuple, input: unknown): boolean {
  return (
    input === null || (isCommand(input) && input.resume !== undefined && isResumedWith(tuple, input.resume))
  );
}
