/**
 * The diary of a superstep: what LangGraph does not save about it. Its entries are writes beside the checkpoint that
 * the superstep began on, on a channel that no graph has and under ids that no task has, so LangGraph leaves them
 * alone. They belong to that checkpoint's branch, and are copied and deleted with it. The kinds of entries:
 *
 * - `start` and `wait`: a call's tool starts, or it asks a human and will be run again with the answer.
 * - `result`: what a tool returned after the abort or the end of its run.
 * - `shown`: the text of a response that clients saw before its run was aborted.
 * - `end`: how a run ended, unless its checkpoint tells that it is done or asks a human.
 *
 * The id of an entry is derived from what it says, so writing it again changes nothing.
 */

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { coerceMessage } from "../history/read-messages.js";
import { isResult } from "../history/result.js";
import { forAllCopies } from "../shared/for-all-copies.js";
import { toJson } from "../shared/json.js";
import { madeOnce, recordsIn, textIn } from "../shared/values.js";
import { answered } from "../shared/waiting.js";
import { type Writes, writesBeside } from "./langgraph/read-checkpoints.js";
import { checkpointOfStep, ownThreadOf } from "./langgraph/run-host.js";

const DIARY = "tether:diary";

/** A result that came after its run had ended. */
export interface LateResult {
  /** The place of its call: its message's id, and the call's index in it. */
  readonly place: string;
  readonly result: ToolMessage;
  /** What the tool wrote to the state's own keys, in order. */
  readonly values: Writes;
  /** The own keys that were written since, as far as its reader knows. */
  readonly rewritten?: ReadonlySet<string> | undefined;
}

/** How a run ended. */
export interface NotedEnd {
  readonly runId: string;
  readonly outcome: string;
  /** Whether it had used anything. */
  readonly hasUsed: boolean;
  /** The tasks that had written something beside the checkpoint by then. Later ones are of a run that went on there. */
  readonly settled: readonly string[];
}

/** How often a call's tool started, and how often it asked a human. */
interface Notes {
  readonly start: number;
  readonly wait: number;
}

interface Diary {
  /** By the places of the calls. */
  readonly notes: ReadonlyMap<string, Notes>;
  readonly results: readonly LateResult[];
  /** The texts that clients saw, with their messages' ids. */
  readonly shown: readonly { readonly id: string; readonly text: string }[];
  /** How runs ended whose ends were told. */
  readonly ends: readonly NotedEnd[];
}

type Kind = "start" | "wait" | "result" | "shown" | "end";

/** An entry is about a call's place, a message's id or a run's. */
export type Entry = readonly [about: string, kind: Kind, content?: Readonly<Record<string, unknown>>];

export function diaryOf(tuple: CheckpointTuple): Diary {
  const notes = new Map<string, { start: number; wait: number }>();
  const results: LateResult[] = [];
  const shown: { id: string; text: string }[] = [];
  const ends: NotedEnd[] = [];
  for (const entry of writesBeside(tuple, DIARY)) {
    const [about, kind, content]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof about !== "string") continue;
    if (kind === "start" || kind === "wait") madeOnce(notes, about, () => ({ start: 0, wait: 0 }))[kind] += 1;
    const { message, values } = Object(content);
    const result = kind === "result" ? coerceMessage(message) : undefined;
    if (result !== undefined && isResult(result))
      results.push({ place: about, result, values: recordsIn(values).flatMap(Object.entries) });
    const text = kind === "shown" ? textIn(content, "text") : undefined;
    if (text !== undefined) shown.push({ id: about, text });
    const outcome = kind === "end" ? textIn(content, "outcome") : undefined;
    const { hasUsed, settled } = Object(content);
    if (outcome !== undefined)
      ends.push({ runId: about, outcome, hasUsed: hasUsed === true, settled: [settled ?? []].flat() });
  }
  return { notes, results, shown, ends };
}

/** What is noted of a call. */
export function notesOf(tuple: CheckpointTuple | undefined, place: string): Notes {
  return (tuple && diaryOf(tuple).notes.get(place)) ?? NO_NOTES;
}

const NO_NOTES: Notes = { start: 0, wait: 0 };

/** The id under which an entry is written. */
function taskOfEntry([about, kind]: Entry, count: number): string {
  const digits = digest([about, kind, count]);
  // A store can require UUIDs. The first digit keeps the id apart from those that LangGraph gives a meaning.
  return `e${digits.slice(1, 8)}-${digits.slice(8, 12)}-5${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

/**
 * Writes an entry.
 *
 * @param count Tells the entry from an earlier one of the same kind about the same thing.
 */
export function writeEntry({ saver, config }: Page, entry: Entry, count = 0): Promise<void> {
  return saver.putWrites(config, [[DIARY, entry]], taskOfEntry(entry, count));
}

/** Writes how a run ended. */
export function writeEnd(page: Page, { runId, ...end }: NotedEnd): Promise<void> {
  return writeEntry(page, [runId, "end", end]);
}

export function digest(values: readonly unknown[]): string {
  const text = toJson(values.map((value) => (value === undefined ? null : String(value)))) ?? "";
  return createHash("sha256").update(text).digest("hex");
}

/** Whether these writes are entries. Those are saved even after their run has ended. */
export function areEntries(writes: Writes): boolean {
  return writes.every(([channel]) => channel === DIARY);
}

/*
 * Writes what comes after a run's abort. Only the thread's next run in this process waits for it.
 */

/** Where a superstep's diary is. */
export interface Page {
  readonly saver: BaseCheckpointSaver;
  readonly config: RunnableConfig;
}

/** The page for a task's superstep. Undefined if its graph saves no checkpoints of its own. */
export function pageOf(config: RunnableConfig, checkpoint_id = checkpointOfStep(config)): Page | undefined {
  const own = ownThreadOf(config);
  if (own === undefined || checkpoint_id === undefined) return undefined;
  return { saver: own.saver, config: { configurable: { ...own.place, checkpoint_id } } };
}

/** Entries on their way to a page. */
interface Delivery {
  readonly page: Page;
  readonly entries: Entry[];
  readonly ended: Promise<void>;
}

/** By thread id. Two checkpointers can have threads with the same id, which then wait for one another. */
const deliveries = forAllCopies("deliveries", () => new Map<unknown, Set<Delivery>>());

/**
 * Writes an entry once its checkpoint is saved, and waits a few seconds for that. A deleted thread gets none.
 *
 * Contract: never rejects.
 */
export function writeLate(entry: Entry, page: Page | undefined): Promise<void> {
  if (page === undefined) return Promise.resolve();
  const { thread_id, checkpoint_id } = { ...page.config.configurable };
  const underWay = madeOnce(deliveries, thread_id, () => new Set<Delivery>());
  for (const { page: other, entries, ended } of underWay)
    if (other.saver === page.saver && other.config.configurable?.["checkpoint_id"] === checkpoint_id) {
      entries.push(entry);
      return ended;
    }
  const entries = [entry];
  const end = (): void => {
    underWay.delete(delivery);
    if (underWay.size === 0) deliveries.delete(thread_id);
  };
  const delivery: Delivery = { page, entries, ended: deliver(entries, page, end) };
  underWay.add(delivery);
  return delivery.ended;
}

/** With the durability `exit`, the checkpoint is saved when its run has ended. A database can also be briefly away. */
const WAITS = [0, 10, 40, 160, 640, 2_560];

/** Entries that come meanwhile are also written. @param end Contract: called when the last one is written. */
async function deliver(entries: Entry[], page: Page, end: () => void): Promise<void> {
  const within = { what: "The checkpointer" };
  for (const wait of WAITS) {
    await delay(wait);
    try {
      const tuple = await answered(page.saver.getTuple(page.config), within);
      if (tuple === undefined) continue;
      const known = new Set((tuple.pendingWrites ?? []).map(([task]) => task));
      for (let [entry] = entries; entry !== undefined; [entry] = entries) {
        const task = taskOfEntry(entry, 0);
        // If two tools ran for one call, the first result counts, whichever the saver would keep.
        if (!known.has(task)) await answered(writeEntry(page, entry), within);
        known.add(task);
        entries.shift();
      }
      break;
    } catch {}
  }
  end();
}

/**
 * Contract: resolves when everything that came for this thread is in its diaries, or cannot be written. Never rejects.
 */
export async function diaryWritten(threadId: unknown, signal?: AbortSignal | undefined): Promise<void> {
  const underWay = deliveries.get(threadId);
  if (underWay === undefined) return;
  const ended = Promise.all([...underWay].map((delivery) => delivery.ended)).then(() => {});
  await answered(ended, { what: "The checkpointer", signal }).catch(() => {});
}
