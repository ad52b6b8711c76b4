import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { surveyOf } from "../../history/following/survey.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { deriveUnusedId } from "../../history/messages/message-id.js";
import { coverageOf } from "../../history/messages/summary.js";
import { hasMessage } from "../../history/reducer/normalize-history.js";
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
  const isTaken = (id: string) => hasMessage(history, id);
  const threadId: unknown = configurable?.["thread_id"];
  const mayBeArchived = store !== undefined && typeof threadId === "string" && hasArchivedSummary(history);
  if (message.id !== undefined && !isTaken(message.id)) {
    if (!mayBeArchived || !(await isArchived(store, threadId, message.id))) return message;
  }
  const id = deriveUnusedId(message, history.at(-1)?.id ?? "", isTaken);
  return copyMessage<BaseMessage>(message, { id }) as Message;
}

function hasArchivedSummary(history: readonly BaseMessage[]): boolean {
  if (surveyOf(history).summaries === 0) return false;
  return history.some((message) => coverageOf(message)?.kind === "archive");
}
