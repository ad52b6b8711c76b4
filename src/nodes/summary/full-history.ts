/** Reads a complete conversation, with the messages that summaries cover. */

import type { BaseMessage } from "@langchain/core/messages";
import { InvalidMessageError, InvalidSettingError } from "../../errors.js";
import { trust } from "../../history/messages/marks.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { listOf } from "../../history/reading/read-messages.js";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import { rewriteHistory } from "../../history/reducer/rewrite-history.js";
import { aFunction, checkSettings, countFrom, text } from "../../settings/rule.js";
import { isRecord } from "../../shared/is-record.js";
import { type ArchiveReader, type MissingMessage, readArchived } from "./archive.js";
import { claimPlaces, inOrder, loadArchived } from "./covered-order.js";
import { readPage } from "./history-page.js";

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

/** Options of `readFullHistory` and `restoreCovered`. */
export interface ReadHistoryOptions {
  /**
   * Called for each message that a summary names and that the archive does not have, or has in a form that cannot be
   * read. Its summary stays in the result, in its place. Contract: must not throw. @default nobody is told
   */
  readonly onMissing?: (missing: MissingMessage) => void;
}

/** Options of `readFullHistory`. */
export interface ReadPageOptions extends ReadHistoryOptions {
  /** How many messages to read, the latest ones. At least 1. @default all */
  readonly limit?: number | undefined;
  /** The id of a message. Only messages before it are read. @default the end of the conversation */
  readonly before?: string | undefined;
}

const PAGE_RULES = {
  limit: countFrom(1),
  before: text,
  onMissing: aFunction<(lost: MissingMessage) => void>(),
};

/**
 * The complete conversation of a thread, in order. Each summary is replaced by the messages that it covers, from the
 * state or from the archive. A late result follows its call.
 *
 * @param store The store with the thread's archive; undefined if covered messages were kept in the state.
 * @param threadId The `thread_id` of the thread.
 * @param state The thread's values: the result of `invoke`, `(await graph.getState(config)).values`, or the SDK's.
 * @param options `onMissing` is told about each message that the archive has lost. The result has its summary instead.
 * With `limit` and `before` the result is a page of the conversation, and the messages before it are not read, unless one
 * of the page came late.
 * @throws InvalidMessageError if `state` is not the values of a thread.
 * @throws InvalidSettingError for an option with an invalid value, or if the conversation has no message `before`.
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
 * console.log(`${values.messages.length} of ${whole.length}`); // 4 of 6
 * ```
 */
export async function readFullHistory(
  store: ArchiveReader | undefined,
  threadId: string,
  state: ThreadValues,
  options: ReadPageOptions = {},
): Promise<BaseMessage[]> {
  checkSettings(options, PAGE_RULES, "options");
  const { limit, before, onMissing } = options;
  const messages = normalizeHistory(messagesOf(state), () => {});
  const read = (id: string) => readArchived(store, threadId, id);
  const page = limit === undefined ? undefined : await readPage(messages, read, { limit, before });
  if (page !== undefined) return page.map(trust);
  const { known, missing } = await loadArchived(messages, read);
  for (const lost of missing.values()) onMissing?.(lost);
  const ids = messages.flatMap(({ id }) => id ?? []);
  const history = inOrder(ids, { known, missing, places: claimPlaces(ids, known) });
  const whole = normalizeHistory(history, () => {});
  const end = before === undefined ? whole.length : whole.findIndex(({ id }) => id === before);
  if (end < 0)
    throw InvalidSettingError.expected("before", "the id of a message of the conversation", before);
  return whole.slice(limit === undefined ? 0 : Math.max(0, end - limit), end).map(trust);
}

/**
 * Makes the update that undoes every summary of a thread. Write it to `messages` with `updateState` of the graph or the
 * SDK: it brings all covered messages back and removes the summaries. It consists of plain objects, which can be sent
 * over HTTP.
 *
 * @param store The store with the thread's archive; undefined if covered messages were kept in the state.
 * @param threadId The `thread_id` of the thread.
 * @param state The thread's values: the result of `invoke`, `(await graph.getState(config)).values`, or the SDK's.
 * @param options `onMissing` is told about each message that the archive has lost. Its summary stays.
 * @throws InvalidMessageError if `state` is not the values of a thread.
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
 * console.log(`${values.messages.length}, then ${restored.values.messages.length}`); // 4, then 6
 * ```
 */
export async function restoreCovered(
  store: ArchiveReader | undefined,
  threadId: string,
  state: ThreadValues,
  options: ReadHistoryOptions = {},
): Promise<Record<string, unknown>[]> {
  const history = await readFullHistory(store, threadId, state, options);
  // An update that only removes everything would be a mistake.
  return history.length === 0 ? [] : rewriteHistory(history).map((message) => trust(toPlain(message)));
}
