/** Writes the response that an agent middleware set as the result of a run. */

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../../history/messages/call.js";
import { retractMessages } from "../../langgraph/retract-messages.js";
import type { GivenMessages } from "../../middleware/run-agent-middleware.js";
import { refuseEnded } from "./dispatch-calls.js";
import { withFreshId } from "./fresh-id.js";
import { withName } from "./with-name.js";

/**
 * A message that replaces another one gets a new id, because clients join streamed messages by id. Its tool calls are
 * not run, so they get results here, except calls that the caller will answer.
 */
export async function writeGiven(
  { messages }: GivenMessages,
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  name: string | undefined,
): Promise<BaseMessage[]> {
  const removed = messages.filter(({ type }) => type === "remove");
  await retractMessages(removed, config);
  const replaced = history.filter(({ id }) => removed.some((removal) => removal.id === id));
  const written: BaseMessage[] = [...removed];
  for (const message of messages) {
    if (message.type === "remove") continue;
    written.push(withName(await withFreshId(message, history, config), name));
    const waits = replaced.some((earlier) => callIds(earlier) === callIds(message));
    if (isAIMessage(message) && !waits) written.push(...refuseEnded(message));
  }
  return written;
}

function callIds(message: BaseMessage): string {
  return isAIMessage(message)
    ? callsOf(message)
        .map(({ id }) => id)
        .join()
    : "";
}
