/** The archive of a thread: the store holds its covered messages. */

import { type BaseMessage, mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { copyMessage } from "../../history/messages/copy-message.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { escapeText, escapeValue, unbatched, unescapeValue } from "../../langgraph/stores.js";
import { isRecord } from "../../shared/is-record.js";
import { formerNamespace, threadNamespace } from "../run/thread-namespace.js";

/**
 * The part of a store that reads an archive. LangGraph's stores have it, and a client of a server can be wrapped to
 * have it.
 */
export interface ArchiveReader {
  get(
    namespace: string[],
    key: string,
  ): Promise<{ readonly value: Record<string, unknown> } | null | undefined>;
}

/** The part of a store that writes an archive. */
export interface ArchiveWriter {
  put(namespace: string[], key: string, value: Record<string, unknown>): Promise<void>;
}

/** The namespace of a thread's archive. */
export function archiveNamespace(threadId: string): string[] {
  return threadNamespace("archive", threadId);
}

/**
 * Writes messages under their ids, so that writing them twice makes no difference. All writes begin at once: in a run,
 * LangGraph's store joins them into one batch. Its `batch` method itself is not there.
 */
export async function archiveMessages(
  store: ArchiveWriter,
  threadId: string,
  messages: readonly BaseMessage[],
): Promise<void> {
  const namespace = archiveNamespace(threadId);
  const stored = mapChatMessagesToStoredMessages([...messages]);
  await Promise.all(
    stored.map((value, index) => {
      const key = escapeText(messages[index]?.id ?? "");
      return store.put(namespace, key, escapeValue({ ...value }));
    }),
  );
}

/** The value that is stored for a message. Earlier versions escaped nothing, and wrote to another namespace. */
async function readValue(store: ArchiveReader, threadId: string, id: string): Promise<unknown> {
  const namespace = archiveNamespace(threadId);
  const key = escapeText(id);
  const item = await store.get(namespace, key);
  if (item !== undefined && item !== null) return unescapeValue(item.value);
  const former = formerNamespace("archive", threadId);
  if (former === undefined && key === id) return undefined;
  // Many stores refuse such a place, and then have nothing there.
  const found = await unbatched(store)
    .get(former ?? namespace, id)
    .catch(() => undefined);
  return found?.value;
}

/** Whether a message with this id is archived. If so, no other message can have the id. */
export async function isArchived(store: ArchiveReader, threadId: string, id: string): Promise<boolean> {
  return isStoredMessage(await readValue(store, threadId, id));
}

/** A message that a summary names and that cannot be read. */
export interface MissingMessage {
  readonly id: string;
  /** `"missing"`: the store has no value for it. `"unreadable"`: its value is not a message, or the store failed. */
  readonly reason: "missing" | "unreadable";
}

/** Never throws: an archive can be damaged, and a summary that a client wrote can name anything. */
export async function readArchived(
  store: ArchiveReader | undefined,
  threadId: string,
  id: string,
): Promise<BaseMessage | MissingMessage> {
  try {
    const value = store && (await readValue(store, threadId, id));
    if (value === undefined) return { id, reason: "missing" };
    const message = isStoredMessage(value) ? coerceMessage(value) : undefined;
    if (message === undefined || message.type === "remove") return { id, reason: "unreadable" };
    return message.id === id ? message : copyMessage(message, { id });
  } catch {
    return { id, reason: "unreadable" };
  }
}

function isStoredMessage(value: unknown): boolean {
  return isRecord(value) && "type" in value && isRecord(value["data"]);
}
