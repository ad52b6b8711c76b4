/**
 * A thread's inbox: messages for the current run. Clients put them into the store, each as an item whose value is a
 * message, because they cannot write to the state during a run.
 */

import type { BaseStore } from "@langchain/langgraph";
import { hashText, toJson } from "../shared/json.js";
import { escapeValue, inboxNamespace, searchItems, unescapeValue } from "./stores.js";

/** The part of a store that an inbox needs. */
export type InboxStore = Pick<BaseStore, "search" | "put" | "delete">;

export interface InboxItem {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly value: unknown;
  /**
   * The id of the message that the item becomes. An item that is read twice becomes the same message. A reused key, or
   * a replaced value, becomes another one.
   */
  readonly messageId: string;
}

/** The items in the order in which they were put. Within one millisecond, their keys decide. */
export async function readInbox(store: InboxStore, threadId: string): Promise<readonly InboxItem[]> {
  const within = inboxNamespace(threadId);
  const items = [];
  for await (const { namespace, key, value, createdAt } of searchItems(store, within))
    if (namespace.length === within.length)
      items.push({ namespace, key: String(key), value: unescapeValue(value), time: timeOf(createdAt) });
  return items
    .sort((one, other) => one.time - other.time || (one.key < other.key ? -1 : 1))
    .map(({ time, ...item }) => ({
      ...item,
      messageId: hashText([threadId, item.key, time, toJson(item.value)].join("\n")),
    }));
}

/** A store returns a date or its text. */
function timeOf(createdAt: unknown): number {
  const time = new Date(createdAt as string | Date).getTime();
  return Number.isNaN(time) ? 0 : time;
}

/** Puts a message into the inbox, without an entry in the store's index. */
export const putIntoInbox = (
  store: InboxStore,
  threadId: string,
  key: string,
  value: Record<string, unknown>,
): Promise<void> => store.put(inboxNamespace(threadId), key, escapeValue(value), false);

/** Returns the items that could not be deleted. */
export async function deleteItems<Item extends Pick<InboxItem, "namespace" | "key">>(
  store: InboxStore,
  items: readonly Item[],
): Promise<readonly Item[]> {
  const ends = await Promise.allSettled(items.map(({ namespace, key }) => store.delete([...namespace], key)));
  return items.filter((_, index) => ends[index]?.status === "rejected");
}

/**
 * Deletes the items that became these messages, once those are saved. Never throws: the next run recognises an item
 * that stays.
 */
export async function clearInbox(
  store: InboxStore,
  threadId: string | undefined,
  messageIds: ReadonlySet<string>,
): Promise<void> {
  if (threadId === undefined || messageIds.size === 0) return;
  // Read again, because a client may have replaced the value of a key.
  const items = await readInbox(store, threadId).catch(() => []);
  const taken = items.filter(({ messageId }) => messageIds.has(messageId));
  await deleteItems(store, taken);
}
