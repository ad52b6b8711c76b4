/** What the model node writes where an agent middleware has given the answer. */

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../../history/call.js";
import { retractMessages } from "../../langgraph/retract-messages.js";
import type { GivenMessages } from "../../middleware/run-agent-middleware.js";
import { refuseEnded } from "./dispatch-calls.js";
import { withFreshId } from "./fresh-id.js";

/**
 * A message that takes the place of another is a new one, under an id of its own: clients join what they are streamed
 * by id. Calls in it are not run, so they are answered here; but those that the caller is to answer still wait.
 */
export async function writeGiven(
  { messages }: GivenMessages,
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<BaseMessage[]> {
  const removed = messages.filter(({ type }) => type === "remove");
  await retractMessages(removed, config);
  const replaced = history.filter(({ id }) => removed.some((removal) => removal.id === id));
  const written: BaseMessage[] = [...removed];
  for (const message of messages) {
    if (message.type === "remove") continue;
    written.push(await withFreshId(message, history, config));
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
