/** The archive of a thread: the store holds its covered messages. */

import { isDeepStrictEqual } from "node:util";
import { type BaseMessage, mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import type { BaseStore } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { MARKS, withMarks } from "../history/marks.js";
import { copyMessage } from "../history/message.js";
import { coerceMessage, isMessage } from "../history/read-messages.js";
import { publishRepairs } from "../history/reducer/paired-messages.js";
import { createRepair } from "../history/reducer/repair.js";
import { callIdOf, HIDDEN_ID_PREFIX, isResult } from "../history/result.js";
import { type Archived, archiveOf, coverageOf } from "../history/summary.js";
import { isRecord } from "../shared/values.js";
import type { AgentEvent } from "./events.js";
import { escapeText, escapeValue, threadIdOf, threadNamespace, unescapeValue } from "./stores.js";

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

/** Where the messages of a thread are archived. */
export interface ThreadArchive<Store extends ArchiveReader = ArchiveReader> {
  readonly store: Store;
  readonly threadId: string;
}

/** The archive of a config's thread; undefined without a store, and for a run without a thread. */
export function archiveIn<Store extends ArchiveReader>(
  config: Parameters<typeof threadIdOf>[0] & { readonly store?: Store | null | undefined },
): ThreadArchive<Store> | undefined {
  const { store } = config;
  const threadId = threadIdOf(config);
  return store == null || threadId === undefined ? undefined : { store, threadId };
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
  store: Pick<BaseStore, "put">,
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

/** The value that is stored for a message. */
async function readValue(store: ArchiveReader, threadId: string, id: string): Promise<unknown> {
  const item = await store.get(archiveNamespace(threadId), escapeText(id));
  return item ? unescapeValue(item.value) : undefined;
}

/** Whether a message with this id is archived. If so, no other message can have the id. */
export async function isArchived({ store, threadId }: ThreadArchive, id: string): Promise<boolean> {
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
    const message = isStoredMessage(value) ? coerceMessage(withoutEscapes(value)) : undefined;
    if (message === undefined || message.type === "remove") return { id, reason: "unreadable" };
    return message.id === id ? message : copyMessage(message, { id });
  } catch {
    return { id, reason: "unreadable" };
  }
}

/** How deep LangChain reads a value. Nothing deeper can be in a thread. */
const DEEPEST = 50;

/** LangChain's `toJSON` wraps each object with a key `lc`, so that no reader takes it for a part of LangChain. */
function withoutEscapes(value: unknown, depth = 0): unknown {
  if (depth > DEEPEST) return value;
  if (Array.isArray(value)) return value.map((part) => withoutEscapes(part, depth + 1));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "__lc_escaped__") return first[1];
  return Object.fromEntries(entries.map(([key, part]) => [key, withoutEscapes(part, depth + 1)]));
}

/** The messages with these ids, without those that cannot be read. */
export async function readArchive(
  store: ArchiveReader,
  threadId: string,
  ids: readonly string[],
): Promise<BaseMessage[]> {
  const found = await Promise.all(ids.map((id) => readArchived(store, threadId, id)));
  return found.filter((one) => isMessage(one));
}

function isStoredMessage(value: unknown): boolean {
  return isRecord(value) && "type" in value && isRecord(value["data"]);
}

/*
 * Finds archived messages that a client sends again, because it sends its whole list with each run.
 */

export interface Returned {
  readonly messages: ReadonlySet<BaseMessage>;
  /** For those that the client has changed: the archive keeps what it has. */
  readonly events: readonly AgentEvent[];
}

/**
 * Those of the given messages that summaries of the history have archived. A message that the archive has lost is not
 * among them. The change of one that was edited is published as a repair.
 */
export async function findReturned(
  given: readonly BaseMessage[],
  history: readonly BaseMessage[],
  { store, threadId }: ThreadArchive,
): Promise<Returned> {
  const read = (id: string) => readArchived(store, threadId, id);
  const { named } = await loadArchived(history, read, (id) => id.startsWith(HIDDEN_ID_PREFIX));
  const messages = new Set<BaseMessage>();
  const edited: BaseMessage[] = [];
  for (const message of given) {
    if (message.id === undefined || !named.has(message.id)) continue;
    const archived = await read(message.id);
    if (!("content" in archived)) continue;
    messages.add(message);
    if (!saysTheSame(message, archived)) edited.push(message);
  }
  publishRepairs(edited.map((message) => createRepair({ kind: "archived-refused", message })));
  const events = edited.map(({ id = "" }) => ({ type: "message-refused", messageId: id }) as const);
  return { messages, events };
}

/** Many clients have only the text of a message. What they say of a summary has no effect anyway. */
function saysTheSame(given: BaseMessage, archived: BaseMessage): boolean {
  if (coverageOf(archived) !== undefined) return true;
  const isSameContent = isDeepStrictEqual(given.content, archived.content) || given.content === archived.text;
  return (
    isSameContent && given.type === archived.type && isDeepStrictEqual(callsIn(given), callsIn(archived))
  );
}

function callsIn(message: BaseMessage): unknown {
  if (isResult(message)) return callIdOf(message);
  const { tool_calls = [] } = isAIMessage(message) ? message : {};
  return [callsOf(message).map(({ id, name }) => [id, name]), tool_calls.map(({ args }) => args)];
}

/*
 * Puts the messages that summaries cover back into their order. Summaries can be forged, so they can form a cycle.
 */

interface Loaded {
  readonly known: ReadonlyMap<string, BaseMessage>;
  readonly missing: ReadonlyMap<string, MissingMessage>;
  /** The ids of all messages that were archived. */
  readonly named: ReadonlySet<string>;
}

/**
 * The messages of the state, and those that their summaries archived, by id. A message of the state wins over an
 * archived one.
 *
 * @param isWanted Whether a message is read. A summary is, because it can name others.
 */
export async function loadArchived(
  messages: readonly BaseMessage[],
  read: (id: string) => Promise<BaseMessage | MissingMessage>,
  isWanted: (id: string) => boolean = () => true,
): Promise<Loaded> {
  const known = new Map(messages.map((message) => [message.id ?? "", message]));
  const missing = new Map<string, MissingMessage>();
  const named = new Set<string>();
  let unread = messages;
  while (unread.length > 0) {
    const ids = unread.flatMap((message) => archiveOf(message)?.messages ?? []);
    const wanted = [...new Set(ids)].filter((id) => !named.has(id) && !known.has(id) && isWanted(id));
    for (const id of ids) named.add(id);
    const found = await Promise.all(wanted.map(read));
    unread = found.filter((one) => "content" in one);
    for (const message of unread) known.set(message.id ?? "", message);
    for (const one of found) if ("reason" in one) missing.set(one.id, one);
  }
  return { known, missing, named };
}

/**
 * The messages of the list, in order. Each summary is replaced by the messages of its own list. If some of those are
 * missing, the summary stays before the others, and names only them. A message that several lists name is told where it
 * comes last: a request that stayed in the state is in the list of the summary that follows it, at its place.
 */
export function inOrder(ids: readonly string[], loaded: Loaded): BaseMessage[] {
  const reversed: BaseMessage[] = [];
  const told = new Set<string>();
  const waiting: (string | BaseMessage)[] = [...ids];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "string") {
      reversed.push(next);
      continue;
    }
    const message = loaded.known.get(next);
    if (message === undefined || told.has(next)) continue;
    told.add(next);
    const coverage = coverageOf(message);
    if (coverage === undefined) reversed.push(message);
    if (coverage?.kind !== "archive") continue;
    const rest = coverageOfMissing(coverage, loaded);
    if (rest !== undefined) waiting.push(withMarks(message, { [MARKS.coverage]: rest }));
    for (const covered of orderOf(coverage)) waiting.push(covered);
  }
  return reversed.toReversed();
}

/** Messages that a summary keeps in the state are in the list next to it. */
export function orderOf({ order, messages }: Archived): readonly string[] {
  return order ?? messages;
}

function coverageOfMissing(coverage: Archived, { known, missing }: Loaded): Archived | undefined {
  const messages = coverage.messages.filter((id) => missing.has(id));
  if (messages.length === 0) return undefined;
  const found = coverage.messages.flatMap((id) => known.get(id) ?? []);
  const answerable = new Set(found.flatMap(callsOf).map(({ id }) => id));
  const isLost = (id: string) => !answerable.has(id);
  const unanswered = coverage.unanswered?.filter(isLost);
  const calls = coverage.calls.filter(isLost);
  return { kind: "archive", asOf: coverage.asOf, messages, order: messages, calls, unanswered };
}
