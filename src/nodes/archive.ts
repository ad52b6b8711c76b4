/** Covered messages that have left the state for the store, and the way back. */

import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { reduceMessages } from "../history/reduce-messages.js";
import { coverageOf } from "../history/summary.js";

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
  const { messages } = reduceMessages([], state.messages);
  const inState = new Set(messages.map(({ id }) => id));
  const namespace = archiveNamespace(threadId);
  const expand = async (message: BaseMessage): Promise<BaseMessage[]> => {
    const coverage = coverageOf(message);
    if (coverage === undefined) return [message];
    if (coverage.kind === "keep") return [];
    const missing = coverage.messages.filter((id) => !inState.has(id));
    const archived = await Promise.all(missing.map((id) => readArchived(store, namespace, id)));
    return (await Promise.all(archived.map(expand))).flat();
  };
  const expanded = (await Promise.all(messages.map(expand))).flat();
  return reduceMessages([], expanded).messages;
}

async function readArchived(
  store: ArchiveReader | undefined,
  namespace: string[],
  id: string,
): Promise<BaseMessage> {
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
  const history = await readFullHistory(store, threadId, state);
  return [{ type: "remove", id: REMOVE_ALL_MESSAGES }, ...history.map(toPlain)];
}

function toPlain(message: BaseMessage): Record<string, unknown> {
  return { ...message.toDict().data, type: message.type };
}
