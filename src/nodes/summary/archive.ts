/** Covered messages that have left the state for the store, and the way back. */

import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { normalizeHistory } from "../../history/normalize-history.js";
import { listOf } from "../../history/read-messages.js";
import { rewriteHistory } from "../../history/rewrite-history.js";
import { coverageOf } from "../../history/summary.js";
import { toPlain } from "../../history/to-plain.js";

/** What is needed of a store. LangGraph's stores have it; a client of a server can be wrapped to have it. */
export interface ArchiveReader {
  get(
    namespace: string[],
    key: string,
  ): Promise<{ readonly value: Record<string, unknown> } | null | undefined>;
}

export interface ArchiveWriter {
  put(namespace: string[], key: string, value: Record<string, unknown>): Promise<void>;
}

/** The namespace of a thread's archive. */
export function archiveNamespace(threadId: string): string[] {
  // Labels of a namespace may not hold a period.
  return ["langgraph-tether", "archive", encodeURIComponent(threadId).replaceAll(".", "%2E")];
}

/** Writes messages under their ids: done again, it overwrites with the same. */
export async function archiveMessages(
  store: ArchiveWriter,
  threadId: string,
  messages: readonly BaseMessage[],
): Promise<void> {
  const namespace = archiveNamespace(threadId);
  const stored = mapChatMessagesToStoredMessages([...messages]);
  await Promise.all(
    stored.map((value, index) => store.put(namespace, messages[index]?.id ?? "", { ...value })),
  );
}

/** Whether a message of this id has been archived: another one may not take the id. */
export async function isArchived(store: ArchiveReader, threadId: string, id: string): Promise<boolean> {
  return isStoredMessage((await store.get(archiveNamespace(threadId), id))?.value);
}

/** The values of a thread, as a graph or the SDK gives them. */
interface ThreadValues {
  readonly messages?: unknown;
}

/**
 * The whole conversation of a thread in order, without summaries: what they cover stands in their place, from the
 * state or from the archive. A late result stands with its call.
 *
 * @param store Where the thread's covered messages were archived; undefined if they were kept in the state.
 * @param state The thread's values: what `invoke` returns, `(await graph.getState(config)).values`, or the SDK's.
 * @throws Error if the archive lacks a message that a summary names.
 */
export async function readFullHistory(
  store: ArchiveReader | undefined,
  threadId: string,
  state: ThreadValues,
): Promise<BaseMessage[]> {
  const messages = normalizeHistory(listOf(state.messages), () => {});
  const ids = messages.flatMap(({ id }) => id ?? []);
  const known = await loadArchived(messages, { store, namespace: archiveNamespace(threadId) });
  const owners = new Map<string, string>();
  claim(ids, WHOLE_THREAD);
  return [...normalizeHistory(flatten(ids, WHOLE_THREAD), () => {})];

  /** A message that several summaries list stands where the earliest one has it. */
  function claim(list: readonly string[], owner: string): void {
    for (const id of list) owners.set(id, owner);
    for (const id of list) claim(orderOf(known.get(id)), id);
  }
  function flatten(list: readonly string[], owner: string): BaseMessage[] {
    return list.flatMap((id) => {
      const message = known.get(id);
      if (message === undefined || owners.get(id) !== owner) return [];
      return coverageOf(message) === undefined ? [message] : flatten(orderOf(message), id);
    });
  }
}

const WHOLE_THREAD = "";

/** What an archived summary lists; what a kept one covers is listed beside it. */
function orderOf(message: BaseMessage | undefined): readonly string[] {
  const coverage = message && coverageOf(message);
  return coverage?.kind === "archive" ? (coverage.order ?? coverage.messages) : [];
}

interface Archive {
  readonly store: ArchiveReader | undefined;
  readonly namespace: string[];
}

/** The messages of the state and all that their summaries have archived, by id; the state's own go before. */
async function loadArchived(
  messages: readonly BaseMessage[],
  archive: Archive,
): Promise<ReadonlyMap<string, BaseMessage>> {
  const known = new Map(messages.map((message) => [message.id ?? "", message]));
  let unread = messages;
  while (unread.length > 0) {
    const named = unread.flatMap((message) => {
      const coverage = coverageOf(message);
      return coverage?.kind === "archive" ? coverage.messages : [];
    });
    const missing = [...new Set(named)].filter((id) => !known.has(id));
    unread = await Promise.all(missing.map((id) => readArchived(archive, id)));
    for (const [index, id] of missing.entries()) {
      const message = unread[index];
      if (message !== undefined) known.set(id, message);
    }
  }
  return known;
}

async function readArchived({ store, namespace }: Archive, id: string): Promise<BaseMessage> {
  const item = await store?.get(namespace, id);
  const [message] = isStoredMessage(item?.value) ? mapStoredMessagesToChatMessages([item.value]) : [];
  if (message === undefined) throw new Error(`The archive ${namespace.join("/")} has no message \`${id}\`.`);
  return message;
}

function isStoredMessage(value: unknown): value is StoredMessage {
  return typeof value === "object" && value !== null && "type" in value && "data" in value;
}

/**
 * The update that undoes every summary of a thread: written to its `messages`, by `updateState` of the graph or of
 * the SDK, it brings all covered messages back and removes the summaries. Plain objects, which go over the wire.
 *
 * @throws Error if the archive lacks a message that a summary names.
 */
export async function restoreCovered(
  store: ArchiveReader | undefined,
  threadId: string,
  state: ThreadValues,
): Promise<Record<string, unknown>[]> {
  return rewriteHistory(await readFullHistory(store, threadId, state)).map(toPlain);
}
