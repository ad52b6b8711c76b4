/** Reads the whole conversation of a thread, with what summaries cover. */

import type { BaseMessage } from "@langchain/core/messages";
import { InvalidMessageError, InvalidSettingError } from "../errors.js";
import { trust } from "../history/marks.js";
import { toPlain } from "../history/message.js";
import { unansweredCalls } from "../history/open-calls.js";
import { listOf } from "../history/read-messages.js";
import { normalizeHistory } from "../history/reducer/normalize-history.js";
import { rewriteHistory } from "../history/reducer/rewrite-history.js";
import { HIDDEN_ID_PREFIX, isPlaceholder, isResult } from "../history/result.js";
import { coverageOf } from "../history/summary.js";
import { aFunction, checkSettings, countFrom, text } from "../shared/check-settings.js";
import { isRecord } from "../shared/values.js";
import {
  type ArchiveReader,
  inOrder,
  loadArchived,
  type MissingMessage,
  orderOf,
  readArchived,
} from "./archive.js";

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
  const loaded = await loadArchived(messages, read);
  for (const lost of loaded.missing.values()) onMissing?.(lost);
  const ids = messages.flatMap(({ id }) => id ?? []);
  const history = inOrder(ids, loaded);
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

/*
 * Reads one page of a conversation without the messages before it.
 */

/**
 * The last messages before a place, from the latest back. It reads the summaries on its way and the messages of the page.
 *
 * @returns Undefined if other messages decide what the page has: a result that came late, or a message that is missing.
 */
async function readPage(
  messages: readonly BaseMessage[],
  read: (id: string) => Promise<BaseMessage | MissingMessage>,
  { limit, before }: { readonly limit: number; readonly before: string | undefined },
): Promise<BaseMessage[] | undefined> {
  const known = new Map(messages.map((message) => [message.id ?? "", message]));
  const load = async (ids: readonly string[]): Promise<boolean> => {
    const found = await Promise.all(ids.filter((id) => !known.has(id)).map(read));
    for (const one of found) if ("content" in one) known.set(one.id ?? "", one);
    return found.every((one) => "content" in one);
  };
  /** The ids from the latest back. A summary is replaced by the list that it archived. Undefined: it cannot be told. */
  async function* walkBack(): AsyncGenerator<string | undefined> {
    const left = messages.map(({ id = "" }) => id);
    const told = new Set<string>();
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      if (told.has(id)) continue;
      told.add(id);
      if (id.startsWith(HIDDEN_ID_PREFIX) && !(await load([id]))) yield undefined;
      const message = known.get(id);
      const coverage = message && coverageOf(message);
      if (coverage === undefined) yield id;
      else if (coverage.kind === "archive") for (const covered of orderOf(coverage)) left.push(covered);
    }
  }

  /** What has been walked over, from the latest back, and where the page begins in it. */
  const ids: string[] = [];
  let start = before === undefined ? 0 : undefined;
  for await (const id of walkBack()) {
    if (id === undefined) return undefined;
    ids.push(id);
    if (start !== undefined && ids.length >= start + limit) {
      if (!(await load(ids.slice(start)))) return undefined;
      const first = known.get(id);
      // The results at the beginning of a page need the message with their calls.
      if (first === undefined || !isResult(first)) break;
    }
    if (id === before) start = ids.length;
  }
  if (start === undefined || !(await load(ids.slice(start)))) return undefined;
  // The page can end between the results of a group.
  let end = start;
  for (; end > 0; end -= 1) {
    const id = ids[end - 1] ?? "";
    if (!(await load([id]))) return undefined;
    const message = known.get(id);
    if (message === undefined || !isResult(message)) break;
  }
  const list = ids
    .slice(end)
    .toReversed()
    .flatMap((id) => known.get(id) ?? []);
  let isWhole = !list.some((message) => coverageOf(message) !== undefined || isPlaceholder(message));
  const whole = normalizeHistory(list, () => {
    isWhole = false;
  });
  const { dangling, pending } = unansweredCalls(whole);
  const isOpen = dangling.length > 0 || (before !== undefined && pending.length > 0);
  if (!isWhole || isOpen || whole.length !== list.length) return undefined;
  return whole.slice(0, whole.length - (start - end)).slice(-limit);
}
