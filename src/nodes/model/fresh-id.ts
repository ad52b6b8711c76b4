import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { copyMessage } from "../../history/messages/copy-message.js";
import { deriveUnusedId } from "../../history/messages/message-id.js";
import { coverageOf } from "../../history/messages/summary.js";
import { isArchived } from "../summary/archive.js";

/**
 * Ids of streamed messages come from the provider. A message with a repeated id must not overwrite an earlier message
 * in the state or in the archive.
 */
export async function withFreshId<Message extends BaseMessage>(
  message: Message,
  history: readonly BaseMessage[],
  { store, configurable }: LangGraphRunnableConfig,
): Promise<Message> {
  const isTaken = (id: string) => history.some((earlier) => earlier.id === id);
  const threadId: unknown = configurable?.["thread_id"];
  const mayBeArchived =
    store !== undefined && typeof threadId === "string" && history.some(isArchivedSummary);
  if (message.id !== undefined && !isTaken(message.id)) {
    if (!mayBeArchived || !(await isArchived(store, threadId, message.id))) return message;
  }
  const id = deriveUnusedId(message, history.at(-1)?.id ?? "", isTaken);
  return copyMessage<BaseMessage>(message, { id }) as Message;
}

function isArchivedSummary(message: BaseMessage): boolean {
  return coverageOf(message)?.kind === "archive";
}
