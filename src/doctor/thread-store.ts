/** What the doctor needs from a place that stores threads. */

import { createHash } from "node:crypto";
import { types } from "node:util";
import { InvalidMessageError } from "../errors.js";
import { convertMessage } from "../history/read-messages.js";
import { safely, toJson } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import type { LateResult } from "../threads/diary.js";

/** One thread, or the state of a subgraph inside a thread. */
export interface ThreadRef {
  readonly threadId: string;
  /** `""` for the thread itself. Otherwise a subgraph's namespace: it is reported, and never written. */
  readonly namespace: string;
}

/** Which of a store's threads are read. Missing fields select everything. */
export interface ThreadSelection {
  readonly threadIds?: readonly string[] | undefined;
  /** The thread's metadata must contain all of these, with equal values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly status?: ThreadStatus | undefined;
  /** Only threads that were written at this time or later. */
  readonly since?: Date | undefined;
  /**
   * Only threads that their last run may have left unfinished. A store that would have to read a thread to tell keeps
   * it. @default false
   */
  readonly isUnfinished?: boolean | undefined;
  /** How many threads at most. */
  readonly limit?: number | undefined;
}

/** A thread or subgraph as its place lists it, without its messages. What the place does not tell selects nothing. */
export interface FoundThread extends ThreadRef, Omit<ListedThread, "status"> {
  /** When it was changed last, in milliseconds. */
  readonly changedAt?: number | undefined;
}

/** The threads that a selection names. A subgraph belongs to its thread, and does not count. */
export async function* selectThreads<Found extends FoundThread>(
  found: AsyncIterable<Found> | Iterable<Found>,
  { threadIds, metadata = {}, since, limit = Number.POSITIVE_INFINITY }: ThreadSelection,
): AsyncGenerator<Found> {
  const wanted = threadIds && new Set(threadIds);
  const chosen = new Set<string>();
  for await (const one of found) {
    const { threadId, changedAt = Number.POSITIVE_INFINITY, metadata: own } = one;
    if (!chosen.has(threadId)) {
      if (wanted?.has(threadId) === false) continue;
      if (since !== undefined && changedAt < since.getTime()) continue;
      // A selection names values as texts.
      if (own && !Object.entries(metadata).every(([name, value]) => String(own[name]) === value)) continue;
      if (chosen.size === limit) return;
      chosen.add(threadId);
    }
    yield one;
  }
}

/** A repair's or an undo's write. */
export interface ThreadWrite {
  /** The latest checkpoint for which the write was planned. Undefined: the thread has no checkpoint ids. */
  readonly expectedCheckpointId: string | undefined;
  /** The thread's complete list of messages after the write, in the form of {@link StoredThread}. */
  readonly messages: readonly unknown[];
}

/** What became of a write. */
export type WriteOutcome =
  /** `checkpointId` is the new latest checkpoint. */
  | { readonly kind: "written"; readonly checkpointId: string | undefined }
  /** Somebody else wrote to the thread after the plan was made. Nothing was written. */
  | { readonly kind: "moved"; readonly checkpointId: string | undefined }
  /** A run of the thread has not ended. Nothing was written. */
  | { readonly kind: "busy" };

/** Threads that the doctor can read, and usually write. */
export interface ThreadStore {
  /** The place, as reports and receipts name it. It contains no keys and no passwords. */
  readonly target: string;
  /** False for a store that can only be read. */
  readonly canWrite: boolean;
  /** Contract: yields each selected thread once, and keeps at most their ids in memory. Throws if it cannot connect. */
  threads(selection: ThreadSelection): AsyncIterable<ThreadRef>;
  /**
   * Contract: changes nothing. A thread whose messages cannot be read is returned as such, with the reason. Throws only
   * if the store itself fails, for example because the connection is lost.
   */
  read(ref: ThreadRef, bounds?: ReadBounds): Promise<StoredThread>;
  /**
   * Contract: compares the latest checkpoint with `expectedCheckpointId` directly before it writes. Writes the list in
   * one step, or nothing. Leaves every other channel as it is, but applies the pending writes of finished tasks at the
   * latest checkpoint. Keeps all earlier checkpoints. The caller reads back and checks.
   */
  write(ref: ThreadRef, write: ThreadWrite): Promise<WriteOutcome>;
  /**
   * Contract: yields the selected threads without their messages, last changed or youngest first, without the first
   * `offset`. A store that does not know its threads' status ignores a selected status. Undefined: the store knows no
   * times, and `threads` lists them.
   */
  readonly recent?:
    | ((
        selection: ThreadSelection,
        offset: number,
        order?: "changed" | "created",
      ) => Promise<readonly ListedThread[]>)
    | undefined;
  /** Contract: resolves to undefined for a selection that the store cannot count. Undefined: it cannot count at all. */
  readonly count?:
    | ((selection: Pick<ThreadSelection, "metadata" | "status">) => Promise<number | undefined>)
    | undefined;
  /**
   * Contract: resolves to a thread's steps, latest first, and to none for an unknown checkpoint. Undefined: it keeps
   * one state.
   */
  readonly steps?: ((ref: ThreadRef, wanted: StepSelection) => Promise<readonly ThreadStep[]>) | undefined;
  /** What the store does not show of its threads, so that nothing of it is judged. One sentence. */
  readonly unseen?: string | undefined;
  /** Whether a thread's status tells if a run of it is going on. A server's does. @default false */
  readonly knowsRuns?: boolean | undefined;
  /** Contract: never rejects. How many runs of the thread wait for their turn. Undefined: the store knows no runs. */
  readonly queuedRuns?: ((ref: ThreadRef) => Promise<number>) | undefined;
  /** Contract: never rejects. Undefined for a run without a `context`, or a forgotten one. */
  readonly contextOfRun?:
    | ((ref: ThreadRef, runId: string) => Promise<Readonly<Record<string, unknown>> | undefined>)
    | undefined;
  close(): Promise<void>;
}

/** How much of a thread is read at most. */
export interface ReadBounds {
  /**
   * About how many messages of earlier states are read for ended runs' results. 0: no earlier state is read. Only a
   * server sends whole states. @default no bound
   */
  readonly earlierMessages?: number | undefined;
  /** See `GraphStoreOptions`. A server knows its runs itself. @default the store's */
  readonly quietMs?: number | undefined;
}

/** A thread of a list. */
export interface ListedThread {
  readonly threadId: string;
  /** Undefined: only reading the thread tells. */
  readonly status?: ThreadStatus | undefined;
  /** When it was made, in milliseconds; undefined if that is unknown. */
  readonly createdAt?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** Which steps of a thread are read. */
export interface StepSelection {
  /** The checkpoint of the first of them. Undefined: the latest. */
  readonly from?: string | undefined;
  readonly limit: number;
}

/** One checkpoint of a thread. */
export interface ThreadStep {
  readonly checkpointId: string;
  /** The checkpoint that it continues. Undefined: it is the first, or that is unknown. */
  readonly parentId?: string | undefined;
  /** In ISO 8601. */
  readonly createdAt: string | undefined;
  /** What LangGraph or its server stores with the checkpoint, such as `step`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** In the form of {@link StoredMessages}. Undefined: the state has no list of messages. */
  readonly messages: readonly unknown[] | undefined;
  /** The nodes that ran next, or that run when the thread continues. */
  readonly next: readonly string[];
  /** The tasks of these nodes, what each of them wrote, and what it failed with. */
  readonly tasks: readonly {
    readonly node: string;
    readonly result: unknown;
    readonly error?: string | undefined;
  }[];
}

/*
 * A thread as it was read from its store.
 */

/**
 * - `idle`: no run is going on, and no question is pending. A run may have ended early.
 * - `busy`: a run is going on, may be going on, or waits to start. Its messages can be incomplete, so they are not judged.
 * - `interrupted`: the thread waits for a human's answer.
 * - `error`: the last run failed.
 */
export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

/**
 * A thread's messages. Each is a value as the store has it: a LangChain message instance, a plain object, or
 * LangChain's serialised form. A store passes them on unchanged, because a repair writes unchanged ones back as they
 * are.
 */
export type StoredMessages =
  | { readonly kind: "read"; readonly messages: readonly unknown[] }
  /**
   * The thread's own graph cannot read it: every `getState` and every run throws `reason`. The messages were read
   * another way; undefined if that also failed.
   */
  | {
      readonly kind: "bricked";
      readonly reason: string;
      readonly messages: readonly unknown[] | undefined;
    }
  /** The messages could not be read, so it is unknown whether the thread is sound. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The state has no list of messages. */
  | { readonly kind: "none" };

/** What a run that ended early saved beside the thread's state. */
export interface EndedRun {
  /** The checkpoint with its finished tasks' writes. */
  readonly checkpointId: string;
  /**
   * - `pending`: it is the latest checkpoint, and the next state update applies the writes.
   * - `discarded`: later input discarded them.
   * - `applied`: a state update took them over. They may be gone again, for example after an undo.
   */
  readonly fate: "pending" | "discarded" | "applied";
  /** The messages that the run knew, in the form of {@link StoredMessages}: its results belong to calls that it made. */
  readonly history: readonly unknown[];
  /** The messages that its finished tasks wrote, in the form of {@link StoredMessages}. */
  readonly written: readonly unknown[];
  /** Its questions to a human, if nobody has answered. */
  readonly interrupts: readonly unknown[];
  /** The nodes that the run was about to enter. */
  readonly nodes: readonly string[];
  /** The places of calls that certainly did not start. Empty if the store does not tell them. */
  readonly unstarted: readonly string[];
  /**
   * What is noted of calls, by their places: they have started, or have asked a human since. Undefined: the store does
   * not tell it.
   */
  readonly noted?: ReadonlyMap<string, "started" | "asked"> | undefined;
  /** What tools returned after the run had ended. Empty if the store does not tell it. */
  readonly late: readonly LateResult[];
  /** The message whose calls the run was about to run, or ran. Undefined: the store does not tell it. */
  readonly headId: string | undefined;
  /** The ids of the messages that later input removes. */
  readonly removed: ReadonlySet<string>;
  /** The names of other channels that its finished tasks wrote. A repair does not restore discarded ones. */
  readonly otherChannels: readonly string[];
}

/** An ended run that has left nothing. */
export const NOTHING_LEFT = {
  fate: "discarded",
  history: [],
  written: [],
  interrupts: [],
  nodes: [],
  unstarted: [],
  late: [],
  headId: undefined,
  removed: new Set<string>(),
  otherChannels: [],
} as const satisfies Omit<EndedRun, "checkpointId">;

/** A task of the latest checkpoint that has not finished. */
export interface OpenTask {
  readonly id: string;
  /** The name of its node. */
  readonly node: string;
  /** What it failed with. Undefined: it did not fail, or that is unknown. */
  readonly error: string | undefined;
  /** Its questions to a human, as far as the store tells them. */
  readonly interrupts: readonly unknown[];
}

/** A thread as it was read from its store. */
export interface StoredThread {
  readonly threadId: string;
  /** See `ThreadRef`. */
  readonly namespace: string;
  /** The latest checkpoint. Undefined for a list without one, such as a file. */
  readonly checkpointId: string | undefined;
  /** When the latest checkpoint was written, in ISO 8601; undefined if that is unknown. */
  readonly updatedAt?: string | undefined;
  readonly status: ThreadStatus;
  readonly content: StoredMessages;
  /** Runs that ended early and left something, oldest first. Empty if the store cannot tell. */
  readonly endedRuns: readonly EndedRun[];
  /** The tasks with which a run of the thread would continue. Undefined: the store cannot tell, as for a bare list. */
  readonly openTasks: readonly OpenTask[] | undefined;
  /**
   * Whether a run has ended at a checkpoint that leads to a node, also if all its tasks have finished. An update of the
   * state is no run. Undefined: the store cannot tell.
   */
  readonly goesOn?: boolean | undefined;
  /** How the run ended that has noted it at the latest checkpoint. Undefined: none has, or the store cannot tell. */
  readonly end?: string | undefined;
  /**
   * Why a run of the thread may be going on, in one sentence. Undefined: nothing says so. A database shows no runs: a
   * held lock or a young checkpoint that leads to a node is its only evidence. If an error is stored with such a
   * checkpoint, or a human is asked, the status is not `busy`, although a run may have been started again since.
   */
  readonly mayRun?: string | undefined;
  /** The state's channels with a value, besides `messages`. */
  readonly otherChannels: readonly string[];
  /** The values of these channels, as far as the store tells them. */
  readonly values?: Readonly<Record<string, unknown>> | undefined;
  /**
   * The channel of the messages, if the state has several channels. Only `messages` is ever written. Undefined: a bare
   * list, or unknown.
   */
  readonly channel?: string | undefined;
  /** The other channels that have a list of messages. */
  readonly otherLists?:
    | readonly { readonly channel: string; readonly messages: readonly unknown[] }[]
    | undefined;
  /**
   * Why the thread belongs to a different graph than the one it was read with, in one sentence. It is then not written.
   */
  readonly otherGraph?: string | undefined;
  /** Whether the store tells which calls certainly did not start. A server and a file do not. @default false */
  readonly tellsStarts?: boolean | undefined;
  /**
   * What repairs calls and results when the next message comes: `createAgentGraph`'s graph, `tetherMiddleware` in another
   * graph, or nobody. This library's `field` keeps the stored list paired, but closes no call in it. Undefined:
   * unknown.
   */
  readonly repairedBy?: "agent" | "middleware" | "field" | "nobody" | undefined;
  /**
   * The nodes whose code decides what becomes of the messages before a model is asked. Empty: a LangChain agent sends them
   * as they are stored. Undefined: unknown, unless `repairedBy` says who runs the thread.
   */
  readonly nodesBefore?: readonly string[] | undefined;
}

/** The stored list; undefined if it could not be read, or if there is none. */
export function storedListOf({ content }: StoredThread): readonly unknown[] | undefined {
  return content.kind === "read" || content.kind === "bricked" ? content.messages : undefined;
}

/** @param messages Undefined: the state has no list. */
export const contentOf = (messages: readonly unknown[] | undefined): StoredMessages =>
  messages === undefined ? { kind: "none" } : { kind: "read", messages };

/**
 * A bare list of messages as a thread. Nothing is known about its run, so each call without a result is a fault.
 *
 * @throws InvalidMessageError for a value that is not a list.
 */
export function threadOfList(messages: readonly unknown[], threadId = "list"): StoredThread {
  if (!Array.isArray(messages)) throw new InvalidMessageError("messages", messages, "a list of messages");
  return {
    threadId,
    namespace: "",
    checkpointId: undefined,
    status: "idle",
    content: { kind: "read", messages },
    endedRuns: [],
    openTasks: undefined,
    otherChannels: [],
  };
}

/** A thread of which only is known why it cannot be read. */
export const unreadableThread = ({ threadId, namespace }: ThreadRef, reason: string): StoredThread => ({
  ...threadOfList([], threadId),
  namespace,
  status: "error",
  content: { kind: "unreadable", reason },
});

/** Node quotes text that it cannot parse, which can be a message, between these. */
const JSON_QUOTE = /, \.{0,3}"/;
const AFTER_JSON_QUOTE = " is not valid JSON";

/** Precedes the whole value that LangChain cannot read as a message. */
const BEFORE_VALUE = "Received: ";

/** A foreign error's text, without the message texts that `JSON.parse` and LangChain quote. */
export function errorText(error: unknown): string {
  return safely(() => {
    const message: unknown = isRecord(error) ? Reflect.get(error, "message") : undefined;
    const text = typeof message === "string" && message !== "" ? message : String(error);
    return withoutValue(withoutJson(text));
  }, "an error that cannot be read");
}

function withoutJson(text: string): string {
  const begin = text.search(JSON_QUOTE);
  const end = text.lastIndexOf(AFTER_JSON_QUOTE);
  if (begin === -1 || end < begin) return text;
  return `${text.slice(0, begin)}: what is stored${text.slice(end)}`;
}

function withoutValue(text: string): string {
  const begin = text.indexOf(BEFORE_VALUE);
  return begin === -1 ? text : text.slice(0, begin).trimEnd();
}

/**
 * The JSON that a database stores for a message, as a value. A message that was read with its stored JSON returns that.
 *
 * @throws TypeError for a value that has no JSON.
 */
export function toStoredJson(value: unknown): unknown {
  const json = toJson(value, (_, part) => markOf(part) ?? part);
  if (json === undefined) throw new TypeError("Expected a message that can be written as JSON.");
  return JSON.parse(json);
}

/** What LangGraph stores for values that JSON has no form for. */
function markOf(value: unknown): object | undefined {
  if (value === undefined) return { lc: 2, type: "undefined" };
  const mark = (name: string, args: readonly unknown[], method: string | null = null) => ({
    lc: 2,
    type: "constructor",
    id: [name],
    method,
    args,
    kwargs: {},
  });
  if (types.isMap(value)) return mark("Map", [[...value]]);
  if (types.isSet(value)) return mark("Set", [[...value]]);
  if (types.isRegExp(value)) return mark("RegExp", [value.source, value.flags]);
  if (types.isNativeError(value)) return mark("Error", [value.message]);
  return types.isUint8Array(value) ? mark("Uint8Array", [[...value]], Uint8Array.from.name) : undefined;
}

/**
 * LangGraph stores undefined as an object. It stays in messages that LangChain refuses to read, and in each message's
 * JSON.
 */
export function withoutUndefined(stored: unknown): unknown {
  if (Array.isArray(stored)) return stored.map((part) => (isUndefined(part) ? null : withoutUndefined(part)));
  if (!isRecord(stored)) return stored;
  const fields = Object.entries(stored).filter(([, part]) => !isUndefined(part));
  return Object.fromEntries(fields.map(([name, part]) => [name, withoutUndefined(part)]));
}

function isUndefined(value: unknown): boolean {
  return isRecord(value) && value["lc"] === 2 && value["type"] === "undefined";
}

/**
 * A hash of what the messages say, however they are stored. Ids do not count, because a reducer gives one to each
 * message without. A value's hash is its JSON's hash, so a list that was read has the same hash as its copy in a
 * receipt.
 */
export function hashList(values: readonly unknown[]): string {
  return createHash("sha256")
    .update(JSON.stringify(values.map(meaningOf)))
    .digest("hex");
}

function meaningOf(value: unknown): unknown {
  const stored = withoutUndefined(toStoredJson(value));
  const message = convertMessage(stored);
  if (message === undefined) return sorted(stored);
  const fields = FIELDS.map((name) => [name, Reflect.get(message, name)]);
  return sorted(withoutUndefined(toStoredJson(Object.fromEntries(fields))));
}

const FIELDS = [
  "type",
  "content",
  "name",
  "role",
  "tool_calls",
  "invalid_tool_calls",
  "tool_call_id",
  "status",
  "artifact",
  "additional_kwargs",
  "response_metadata",
  "usage_metadata",
] as const;

/** In one order, without empty fields, which stores add and leave out. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, part]) => [name, sorted(part)] as const)
      .filter(([, part]) => part !== null && !isEmpty(part))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}
