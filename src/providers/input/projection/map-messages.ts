import type { BaseMessage } from "@langchain/core/messages";

/** The same array if each message stays as it is. `undefined` leaves a message out. */
export function mapMessages(
  messages: readonly BaseMessage[],
  change: (message: BaseMessage, index: number) => BaseMessage | undefined,
): readonly BaseMessage[] {
  const changed = messages.map(change);
  if (changed.every((message, index) => message === messages[index])) return messages;
  return changed.filter((message) => message !== undefined);
}
