/** Moves covered messages from the state to the store, and back. */

import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { InvalidMessageError } from "../../errors.js";
import { listOf } from "../../history/messages/read-messages.js";
import { coverageOf } from "../../history/messages/summary.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import { rewriteHistory } from "../../history/reducer/rewrite-history.js";
import { isRecord } from "../../shared/is-record.js";

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
  // Labels of a namespace must not contain a period.
  return ["langgraph-tether", "archive", encodeURIComponent(threadId).replaceAll(".", "%2E")];
}

/** Writes messages under their ids, so that writing them twice makes no difference. */
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

/** Whether a message with this id is archived. If so, no other message can have the id. */
export async function isArchived(store: ArchiveReader, threadId: string, id: string): Promise<boolean> {
  return isStoredMessage((await store.get(archiveNamespace(threadId), id))?.value);
}

/** The values of a thread, as a graph or the SDK returns them. */
interface ThreadValues {
  readonly messages?: unknown;
}

/** @throws InvalidMessageError for a value that is not the values of a thread, such as the snapshot that holds them. */
function messagesOf(state: ThreadValues): readonly unknown[] {
  const messages: unknown = isRecord(state) ? state["messages"] : undefined;
  // A thread without a run has no values.
  const isEmpty = messages === undefined && isRecord(state) && Object.keys(state).length === 0;
  if (Array.isArray(messages) || isEmpty) return listOf(messages);
  const hint = isRecord(state) && "values" in state ? " Did you mean its `values`?" : "";
  throw new InvalidMessageError("state", state, "the values of a thread, with a list of `messages`", hint);
}

/**
 * The complete conversation of a thread, in order. Each summary is replaced by the messages that it covers, from the
 * state or from the archive. A late result follows its call.
 *
 * @param store The store with the thread's archive; undefined if covered messages were kept in the state.
 * @param threadId The `thread_id` of the thread.
 * @param state The thread's values: the result of `invoke`, `(await graph.getState(config)).values`, or the SDK's.
 * @throws Error if the archive lacks a message that a summary names.
 *
 * @example
 * ```ts
 * import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph, readFullHistory } from "langgraph-tether";
 *
 * const store = new InMemoryStore();
 * const agent = createAgentGraph({
 *   model: "offline:",
 *   checkpointer: new MemorySaver(),
 *   store,
 *   coveredMessages: "archive",
 *   maxMessagesBeforeSummary: 4,
 *   messagesToKeep: 2,
 * });
 * const config = { configurable: { thread_id: "1" } };
 * const content = "Tell me a long story. ".repeat(50);
 * for (let turn = 1; turn <= 3; turn += 1) {
 *   await agent.invoke({ messages: [{ role: "user", content }] }, config);
 * }
 * const { values } = await agent.getState(config);
 * const whole = await readFullHistory(store, "1", values);
 * console.log(`${values.messages?.length} of ${whole.length}`); // 4 of 6
 * ```
 */
export async function readFullHistory(
  store: ArchiveReader | undefined,
  threadId: string,
  state: ThreadValues,
): Promise<BaseMessage[]> {
  const messages = normalizeHistory(messagesOf(state), () => {});
  const ids = messages.flatMap(({ id }) => id ?? []);
  const known = await loadArchived(messages, { store, namespace: archiveNamespace(threadId) });
  return [...normalizeHistory(readInOrder(ids, known, claimPlaces(ids, known)), () => {})];
}

/** The owner of a message that belongs to the thread's own list, not to a summary's. */
const THREAD = "";

type Known = ReadonlyMap<string, BaseMessage>;

/**
 * Decides for each id which list its message belongs to: that of a summary, named by the summary's id, or that of the
 * thread. If several lists name a message, it belongs to the innermost one, which is that of the earliest summary.
 */
function claimPlaces(ids: readonly string[], known: Known): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  const claim = (list: readonly string[], owner: string): void => {
    for (const id of list) places.set(id, owner);
    for (const id of list) claim(orderOf(known.get(id)), id);
  };
  claim(ids, THREAD);
  return places;
}

/** The messages that belong to a list, in order. Each summary is replaced by the messages of its own list. */
function readInOrder(
  ids: readonly string[],
  known: Known,
  places: ReadonlyMap<string, string>,
  owner = THREAD,
): BaseMessage[] {
  return ids.flatMap((id) => {
    const message = known.get(id);
    if (message === undefined || places.get(id) !== owner) return [];
    if (coverageOf(message) === undefined) return [message];
    return readInOrder(orderOf(message), known, places, id);
  });
}

/** The ids that an archiving summary lists. Messages that a summary keeps in the state are in the list next to it. */
function orderOf(message: BaseMessage | undefined): readonly string[] {
  const coverage = message && coverageOf(message);
  return coverage?.kind === "archive" ? (coverage.order ?? coverage.messages) : [];
}

interface Archive {
  readonly store: ArchiveReader | undefined;
  readonly namespace: string[];
}

/**
 * The messages of the state, and those that their summaries archived, by id. A message of the state wins over an
 * archived one.
 */
async function loadArchived(messages: readonly BaseMessage[], archive: Archive): Promise<Known> {
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
 * Makes the update that undoes every summary of a thread. Write it to `messages` with `updateState` of the graph or the
 * SDK: it brings all covered messages back and removes the summaries. It consists of plain objects, which can be sent
 * over HTTP.
 *
 * @param store The store with the thread's archive; undefined if covered messages were kept in the state.
 * @param threadId The `thread_id` of the thread.
 * @param state The thread's values: the result of `invoke`, `(await graph.getState(config)).values`, or the SDK's.
 * @throws Error if the archive lacks a message that a summary names.
 *
 * @example
 * ```ts
 * import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph, restoreCovered } from "langgraph-tether";
 *
 * const store = new InMemoryStore();
 * const agent = createAgentGraph({
 *   model: "offline:",
 *   checkpointer: new MemorySaver(),
 *   store,
 *   coveredMessages: "archive",
 *   maxMessagesBeforeSummary: 4,
 *   messagesToKeep: 2,
 * });
 * const config = { configurable: { thread_id: "1" } };
 * const content = "Tell me a long story. ".repeat(50);
 * for (let turn = 1; turn <= 3; turn += 1) {
 *   await agent.invoke({ messages: [{ role: "user", content }] }, config);
 * }
 * const { values } = await agent.getState(config);
 * await agent.updateState(config, { messages: await restoreCovered(store, "1", values) });
 * const restored = await agent.getState(config);
 * console.log(`${values.messages?.length}, then ${restored.values.messages?.length}`); // 4, then 6
 * ```
 */
export async function restoreCovered(
  store: ArchiveReader | undefined,
  threadId: string,
  state: ThreadValues,
): Promise<Record<string, unknown>[]> {
  const history = await readFullHistory(store, threadId, state);
  // An update that only removes everything would be a mistake.
  return history.length === 0 ? [] : rewriteHistory(history).map(toPlain);
}
