import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { unansweredCalls } from "../../history/calls/open-calls.js";
import { endsRun, isResult } from "../../history/messages/result.js";
import { stepOf } from "../../langgraph/step-of.js";
import type { AgentState } from "../run/agent-state.js";
import { runRecordOf } from "../run/run-handle.js";

/**
 * Whether a message of the inbox can follow the history: no call waits for its result, and no middleware has just ended
 * the run. What ended an earlier run does not count.
 */
export function isOpenToMessages({ messages }: AgentState, config: LangGraphRunnableConfig): boolean {
  if (unansweredCalls(messages).pending.length > 0) return false;
  const results = messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
  return !results.some(endsRun) || stepOf(config) === runRecordOf(config)?.firstStep;
}
