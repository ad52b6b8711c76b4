import type { BaseMessage } from "@langchain/core/messages";

/** Maps each message, and drops it for `undefined`. Returns the same array if no message changes. */
export function mapMessages(
  messages: readonly BaseMessage[],
  change: (message: BaseMessage, index: number) => BaseMessage | undefined,
): readonly BaseMessage[] {
  const changed = messages.map(change);
  if (changed.every((message, index) => message === messages[index])) return messages;
  return changed.filter((message) => message !== undefined);
}
