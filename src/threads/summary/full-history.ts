/** Reads a thread's whole conversation: each summary leads to the checkpoint that has what it covers. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { InvalidSettingError } from "../../errors.js";
import { callsOf } from "../../history/call.js";
import { MARKS, trust, withMarks } from "../../history/marks.js";
import { copyMessage, toPlain } from "../../history/message.js";
import { listOf } from "../../history/read-messages.js";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import { rewriteHistory } from "../../history/reducer/rewrite-history.js";
import { callIdOf, isResult } from "../../history/result.js";
import { type Archived, coverageOf, EARLIER } from "../../history/summary.js";
import { aFunction, checkSettings, countFrom, text } from "../../shared/check-settings.js";
import { hasMethods, isRecord } from "../../shared/values.js";
import { historyIn } from "../ended-runs/leftovers.js";
import { isSaver } from "../langgraph/replace-methods.js";
import { soundSaver } from "../langgraph/sound-saver.js";
import { checkpointsOf } from "../saver/run-checkpoints.js";

/**
 * What reads a thread's states: a compiled graph, a `RemoteGraph`, or an agent from `createAgent`. A checkpointer also
 * works. It reads what is stored, without the writes of tasks whose superstep has not ended.
 */
export type HistorySource =
  | { getState(config: RunnableConfig): Promise<{ readonly values: unknown }> }
  | Pick<BaseCheckpointSaver, "getTuple">;

/** Messages that a summary names but that cannot be read. */
export interface MissingMessages {
  /** The summary's id. It stays in the result, in place of the messages. */
  readonly summary: string;
  /** The checkpoint that had them. */
  readonly checkpoint: string;
  readonly messages: readonly string[];
  /** `"missing"`: the thread has no such checkpoint, or it lacks them. `"unreadable"`: it could not be read. */
  readonly reason: "missing" | "unreadable";
}

/** Options of `readFullHistory` and `restoreCovered`. */
export interface ReadHistoryOptions {
  /** Called for each summary whose messages cannot all be read. Contract: must not throw. @default no report */
  readonly onMissing?: (missing: MissingMessages) => void;
}

/** Options of `readFullHistory`. */
export interface ReadPageOptions extends ReadHistoryOptions {
  /** How many of the latest messages to read. At least 1. @default all */
  readonly limit?: number | undefined;
  /** The id of a message. Only messages before it are read. @default the end of the conversation */
  readonly before?: string | undefined;
}

const PAGE_RULES = {
  limit: countFrom(1),
  before: text,
  onMissing: aFunction<(missing: MissingMessages) => void>(),
};

/**
 * A thread's complete conversation, in order. The messages that a summary covers replace it, from the state or the
 * checkpoint that has them. A late result follows its call.
 *
 * @param source The thread's graph, a `RemoteGraph`, or the checkpointer.
 * @param config The thread's config, with `configurable.thread_id`. `checkpoint_id` names an earlier state or another
 * branch, and `checkpoint_ns` a subgraph.
 * @param options `limit` and `before` return a page of the conversation, and read only the checkpoints back to that
 * page. `onMissing` hears what cannot be read.
 * @throws InvalidSettingError for a wrong argument or option, or if the conversation has no message `before`.
 *
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph, readFullHistory } from "langgraph-tether";
 *
 * const agent = createAgentGraph({
 *   model: "offline:",
 *   checkpointer: new MemorySaver(),
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
 * const whole = await readFullHistory(agent, config);
 * console.log(`${values.messages.length} of ${whole.length}`); // 4 of 6
 * ```
 */
export async function readFullHistory(
  source: HistorySource,
  config: RunnableConfig,
  options: ReadPageOptions = {},
): Promise<BaseMessage[]> {
  checkSettings(options, PAGE_RULES, "options");
  const { limit = Number.POSITIVE_INFINITY, before, onMissing = () => {} } = options;
  const read = listReader(source, config);
  const latest = normalizeHistory(listOf(await read()));

  const reversed: BaseMessage[] = [];
  /** Where the page ends in `reversed`, and when to check whether it is complete. */
  let end = before === undefined ? 0 : undefined;
  let enough = limit;
  for await (const message of walkSummaries(latest, read, onMissing)) {
    reversed.push(message);
    // What follows may belong to a result's group.
    if (end !== undefined && !isResult(message) && reversed.length >= end + enough) {
      const page = pageOf(reversed, limit, before, false);
      if (page !== undefined) return page;
      enough *= 2;
    }
    if (message.id === before) end = reversed.length;
  }
  const page = pageOf(reversed, limit, before, true);
  if (page !== undefined) return page;
  throw InvalidSettingError.expected("before", "the id of a message of the conversation", before);
}

/**
 * Makes the update that undoes all of a thread's summaries. Write it to `messages` with `updateState` of the graph or
 * the SDK: it brings back all covered messages and removes the summaries. It consists of plain objects, which can be
 * sent over HTTP.
 *
 * @param source The thread's graph, a `RemoteGraph`, or the checkpointer.
 * @param config The thread's config, as for `readFullHistory`.
 * @param options `onMissing` hears what cannot be read. Its summary stays.
 * @throws InvalidSettingError for a wrong argument or option.
 *
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph, restoreCovered } from "langgraph-tether";
 *
 * const agent = createAgentGraph({
 *   model: "offline:",
 *   checkpointer: new MemorySaver(),
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
 * await agent.updateState(config, { messages: await restoreCovered(agent, config) });
 * const restored = await agent.getState(config);
 * console.log(`${values.messages.length}, then ${restored.values.messages.length}`); // 4, then 6
 * ```
 */
export async function restoreCovered(
  source: HistorySource,
  config: RunnableConfig,
  options: ReadHistoryOptions = {},
): Promise<Record<string, unknown>[]> {
  const history = await readFullHistory(source, config, options);
  // An update that only removes everything would be a mistake.
  return history.length === 0 ? [] : rewriteHistory(history).map((message) => trust(toPlain(message)));
}

/** Contract: returns the `messages` of the state that the config names, or of another checkpoint. */
type ReadList = (checkpoint?: string) => Promise<unknown>;

/** @throws InvalidSettingError for a wrong source or config. */
function listReader(given: HistorySource, config: RunnableConfig): ReadList {
  // LangChain's agent has its graph in a field.
  const source: unknown =
    hasMethods(given, "getState") || isSaver(given) ? given : Reflect.get(Object(given), "graph");
  const { configurable } = isRecord(config) ? config : {};
  const place = isRecord(configurable) ? configurable : {};
  if (!["string", "number"].includes(typeof place["thread_id"]))
    throw InvalidSettingError.expected("config", "a config with `configurable.thread_id`", config);
  const at = (checkpoint_id: string | undefined): RunnableConfig => {
    if (checkpoint_id === undefined) return config;
    const { checkpoint_map: _, ...own } = place;
    return { ...config, configurable: { ...own, checkpoint_id } };
  };
  if (hasMethods(source, "getState")) {
    const graph = source as Extract<HistorySource, { getState: unknown }>;
    return async (checkpoint) => Object((await graph.getState(at(checkpoint))).values).messages;
  }
  if (!isSaver(source))
    throw InvalidSettingError.expected("source", "a graph with `getState`, or a checkpointer", given);
  const saver = soundSaver(source);
  return async (checkpoint) => {
    const { configurable: own, ...rest } = at(checkpoint);
    const tuple = await saver.getTuple({ ...rest, configurable: { checkpoint_ns: "", ...own } });
    return tuple && historyIn(tuple, checkpointsOf(saver));
  };
}

/*
 * Walks from a conversation's latest message back to its first, and opens each summary on the way.
 */

/** A list of messages. Those before `next` are still to be yielded. */
interface Part {
  readonly list: readonly BaseMessage[];
  next: number;
  readonly positions: ReadonlyMap<string | undefined, number>;
  /** The messages that stayed where they were in an opened list: those that its summary did not cover. */
  readonly moved: Set<string>;
  /** The summary of what is missing. */
  readonly rest: BaseMessage | undefined;
}

/**
 * A conversation's messages, latest first.
 *
 * @param latest The messages of its state.
 */
export async function* walkSummaries(
  latest: readonly BaseMessage[],
  read: ReadList,
  onMissing: (missing: MissingMessages) => void,
): AsyncGenerator<BaseMessage> {
  const parts: Part[] = [partOf(latest)];
  // Anyone can write to a state, so summaries can lead to one another.
  const opened = new Set<string>();
  const told = new Map<string, BaseMessage>();
  for (let part = parts.at(-1); part !== undefined; part = parts.at(-1)) {
    part.next -= 1;
    const message = part.list[part.next];
    if (message === undefined) {
      parts.pop();
      continue;
    }
    const { id = "" } = message;
    if (part.moved.has(id)) continue;
    const coverage = coverageOf(message);
    // What it covers stays beside it.
    if (coverage?.kind === "keep") continue;
    if (coverage !== undefined && message !== part.rest) {
      if (opened.has(coverage.checkpoint)) continue;
      opened.add(coverage.checkpoint);
      const { list, rest, missing } = await openSummary(message, coverage, part, read);
      if (missing !== undefined) onMissing(missing);
      parts.push(partOf(list, rest));
      continue;
    }
    const own = withOwnId(message, told);
    if (own === undefined) continue;
    told.set(own.id ?? "", own);
    yield own;
  }
}

function partOf(list: readonly BaseMessage[], rest?: BaseMessage): Part {
  const positions = new Map(list.map(({ id }, position) => [id, position]));
  return { list, next: list.length, positions, moved: new Set(), rest };
}

/**
 * What a summary stands for, in order. If some of it is missing, the summary precedes the rest, and names only what is
 * missing.
 */
async function openSummary(summary: BaseMessage, coverage: Archived, part: Part, read: ReadList) {
  const { checkpoint, messages } = coverage;
  const stored = await read(checkpoint).catch(() => "unreadable" as const);
  const isUnreadable = stored === "unreadable";
  const list = normalizeHistory(isUnreadable ? [] : listOf(stored));
  const covered = new Set(messages);
  const end = list.findLastIndex(({ id = "" }) => covered.has(id)) + 1;
  const found = list.slice(0, end).flatMap((message) => {
    const { id = "" } = message;
    if (covered.has(id)) return [message];
    const position = part.positions.get(id) ?? part.next;
    if (position >= part.next) return [];
    part.moved.add(id);
    return part.list[position] ?? [];
  });
  const known = new Set(found.map(({ id }) => id));
  const lost = messages.filter((id) => !known.has(id));
  if (lost.length === 0) return { list: found };
  const reason: MissingMessages["reason"] = isUnreadable ? "unreadable" : "missing";
  const missing = { summary: summary.id ?? "", checkpoint, messages: lost, reason };
  const rest = namingOnly(lost, summary, coverage, found);
  return { list: [rest, ...found], rest, missing };
}

/** The summary of the missing messages. */
function namingOnly(
  messages: readonly string[],
  summary: BaseMessage,
  coverage: Archived,
  found: readonly BaseMessage[],
): BaseMessage {
  const answerable = new Set(found.flatMap(callsOf).map(({ id }) => id));
  const isLost = (id: string) => !answerable.has(id);
  const calls = coverage.calls.filter(isLost);
  const unanswered = coverage.unanswered?.filter(isLost);
  return withMarks(summary, { [MARKS.coverage]: { ...coverage, messages, calls, unanswered } });
}

/**
 * The message with an id that no later message has, because response ids can repeat. Undefined for a result that a
 * later one with its id replaced.
 */
function withOwnId(message: BaseMessage, told: ReadonlyMap<string, BaseMessage>): BaseMessage | undefined {
  let { id = "" } = message;
  const later = told.get(id);
  if (later === undefined) return message;
  const isReplaced = isResult(message) && isResult(later) && callIdOf(message) === callIdOf(later);
  if (isReplaced) return undefined;
  while (told.has(id)) id = EARLIER + id;
  return copyMessage(message, { id });
}

/**
 * The last messages before a place. Undefined if there is no such place, or if there are fewer: a late result's place
 * is after its call.
 *
 * @param isWhole Whether there are no earlier messages.
 */
function pageOf(
  reversed: readonly BaseMessage[],
  limit: number,
  before: string | undefined,
  isWhole: boolean,
): BaseMessage[] | undefined {
  const messages = normalizeHistory(reversed.toReversed());
  const end = before === undefined ? messages.length : messages.findIndex(({ id }) => id === before);
  if (end < 0 || (!isWhole && end < limit)) return undefined;
  return messages.slice(Math.max(0, end - limit), end).map(trust);
}
