/** What the commands share: the loop over a target's threads, and a report on them in each format. */

import { setImmediate } from "node:timers/promises";
import { amount, count, printableLine } from "../../shared/text.js";
import { reasonOf, THREADS_AT_ONCE, UsageError } from "../targets/target.js";
import {
  type StoredThread,
  type ThreadRef,
  type ThreadSelection,
  type ThreadStore,
  unreadableThread,
} from "../thread-store.js";
import type { CommandIo } from "./command-io.js";
import { type Options, timeOf } from "./options.js";
import { wrapText } from "./text.js";

/** How the reading of a target ended. */
interface Reading {
  /** The requested threads that do not exist. */
  readonly missing: readonly string[];
  /** Why not everything was read; null if everything was. */
  readonly stopped: string | null;
}

export const isComplete = ({ missing, stopped }: Reading): boolean =>
  missing.length === 0 && stopped === null;

/** After this many consecutive failed reads, the store itself counts as failed. */
const MOST_FAILURES = 5;

/**
 * Reads threads, several at once, and passes on what is made of them in order.
 *
 * @param work Contract: called for several threads at once.
 * @param take Contract: called for one result at a time, in the threads' order.
 * @throws UsageError if none of the requested threads exists.
 */
export async function readThreads<Result extends object>(
  store: ThreadStore,
  options: Partial<Options> & Pick<ThreadSelection, "isUnfinished">,
  io: CommandIo,
  work: (ref: ThreadRef, thread: StoredThread) => Result | Promise<Result>,
  take: (result: Result) => Promise<void>,
): Promise<Reading> {
  const { thread, metadata, status, since, limit, isUnfinished } = options;
  const threadIds = thread && [...new Set(thread)];
  const selection = {
    threadIds,
    metadata: metadata && Object.fromEntries(metadata),
    status,
    since: since === undefined ? undefined : new Date(timeOf(since, io.now())),
    limit,
    isUnfinished,
  };
  const progress = startProgress(store.threads(selection), io);
  const seen = new Set<string>();
  let failures = 0;
  let stopped: string | null = null;
  const results = mapInOrder(store.threads(selection), io.signal, async (ref) => {
    // SQLite answers at once, so without this no signal would be noticed before the end.
    await setImmediate();
    let read: StoredThread;
    try {
      read = await store.read(ref);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures >= MOST_FAILURES) throw error;
      read = unreadableThread(ref, reasonOf(error));
    }
    const isMeant = status === undefined || read.status === status;
    return { ref, result: isMeant ? await work(ref, read) : undefined };
  });
  try {
    for await (const { ref, result } of results) {
      if (threadIds !== undefined) seen.add(ref.threadId);
      await progress.during(async () => {
        if (result !== undefined) await take(result);
      });
    }
    if (io.signal.aborted) stopped = "It was interrupted.";
    // Another option can leave out a thread that is there.
    const unseen = (threadIds ?? []).filter((id) => !seen.has(id));
    if (unseen.length > 0 && stopped === null)
      for await (const { threadId } of store.threads({ threadIds: unseen })) seen.add(threadId);
  } catch (error) {
    if (UsageError.isInstance(error)) throw error;
    stopped = reasonOf(error);
  } finally {
    await progress.end();
  }
  const missing = stopped === null ? (threadIds ?? []).filter((id) => !seen.has(id)) : [];
  if (missing.length > 0 && seen.size === 0)
    throw new UsageError(`${store.target} has no thread ${missing.join(" and no thread ")}.`);
  return { missing, stopped };
}

/**
 * Works on several items at once, and yields the results in the items' order. At most `THREADS_AT_ONCE` results wait.
 *
 * @param signal When it aborts, no further item begins, and started ones finish.
 */
async function* mapInOrder<Item, Result>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const waiting: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      if (signal.aborted) break;
      const result = work(item);
      // It is awaited in its turn. Until then, a rejection must not end the process.
      result.catch(() => {});
      waiting.push(result);
      if (waiting.length === THREADS_AT_ONCE) yield* waiting.splice(0, 1);
    }
    yield* waiting;
  } finally {
    await Promise.allSettled(waiting);
  }
}

/** How often the line changes. */
const INTERVAL_MS = 200;
const CLEAR = "\r\u001b[K";
/** After this many threads, the count lets others work. */
const AT_ONCE = 500;

/**
 * A line at the end of the terminal that says how many threads were read. It disappears while something else is
 * written, and at the end. Nothing is written to a pipe or a file.
 *
 * @param all The threads that will be read. They are counted meanwhile.
 */
function startProgress(all: AsyncIterable<ThreadRef>, { errors, now }: CommandIo) {
  if (!errors.isTerminal) return { during: (work: () => Promise<void>) => work(), end: async () => {} };
  const start = now();
  let shownAt = start;
  let threads = 0;
  let total = "";
  let line = "";
  let hasEnded = false;
  const countAll = async (): Promise<void> => {
    let found = 0;
    for await (const _ of all) {
      found += 1;
      if (found % AT_ONCE === 0) await setImmediate();
      if (hasEnded) return;
    }
    total = ` of ${count(found)}`;
  };
  // The reading itself reports why threads cannot be listed.
  const counting = countAll().catch(() => {});
  return {
    /** Counts a thread. Contract of `work`: it writes whole lines. */
    during: async (work: () => Promise<void>) => {
      if (line !== "") await errors.write(CLEAR);
      await work();
      threads += 1;
      if (now() - shownAt >= INTERVAL_MS) {
        shownAt = now();
        const seconds = (shownAt - start) / 1000;
        line = `${count(threads)}${total} threads · ${Math.round(seconds)} s · ${count(Math.round(threads / seconds))} threads/s`;
      }
      await errors.write(line);
    },
    end: async () => {
      hasEnded = true;
      await counting;
      if (line !== "") await errors.write(CLEAR);
    },
  };
}

/*
 * The report. Its head is printed when it is started.
 */

/** Each part is printed as JSON fields or as text for people. */
interface Report {
  /** Contract: called for threads with findings or steps, and for those that are skipped. */
  readonly thread: (fields: object, text: string) => Promise<void> | void;
  readonly end: (fields: object, text: string) => Promise<void>;
}

interface Head {
  readonly target: string;
  readonly applied?: boolean;
}

export async function startReport(
  command: string,
  head: Head,
  { format }: Pick<Options, "format">,
  { output: { write } }: CommandIo,
): Promise<Report> {
  if (format === "json") {
    const threads: object[] = [];
    const print = (fields: object) =>
      write(`${JSON.stringify({ schemaVersion: 1, ...head, ...fields, threads }, undefined, 2)}\n`);
    return { thread: (fields) => void threads.push(fields), end: print };
  }
  let gap = "";
  await write(headText(command, head.target));
  return {
    thread: async (_, text) => {
      if (text !== "") gap = "\n";
      await write(text);
    },
    end: (_, text) => write(`${gap}${text}`),
  };
}

/** The first line of a text. The name of a target is the operator's, or a receipt's. */
export const headText = (command: string, target: string): string =>
  `tether ${command} · ${printableLine(target)}\n\n`;

/** What is said about threads that are left, by their count's name. */
const NOTES: Readonly<Record<string, (count: number) => string>> = {
  waiting: (count) => `${amount(count, "thread waits", "threads wait")} for a human. They are never changed.`,
  skipped: (count) =>
    `${amount(count, "thread is busy or may be: it was", "threads are busy or may be: they were")} not judged. Run the command again when ${count === 1 ? "its run has" : "their runs have"} ended.`,
  notJudged: (count) =>
    `${amount(count, "thread was", "threads were")} not judged, because no messages were found in ${count === 1 ? "its" : "their"} state, or ${count === 1 ? "its" : "their"} kind is not known.`,
  uncertain: (count) =>
    `It is not known whether ${count === 1 ? "the fault" : `${count} faults`} with a ! ${count === 1 ? "is" : "are"} sent to a model: the graph's own nodes, or its client, may mend ${count === 1 ? "it" : "them"} before.`,
  unreadable: (count) => `${amount(count, "thread", "threads")} could not be read.`,
  otherGraph: (count) =>
    `${amount(count, "thread belongs", "threads belong")} to another graph, and ${count === 1 ? "was" : "were"} not changed.`,
  otherChannel: (count) =>
    `${amount(count, "thread has its", "threads have their")} messages in another channel than messages, which is never written.`,
  moved: (count) =>
    `${amount(count, "thread was", "threads were")} written by others meanwhile. Run the command again.`,
  failed: (count) => `${amount(count, "repair")} failed.`,
};

/** The lines before the last one of a report, which say what is left. */
export function notesText(counts: Readonly<Record<string, number>>, { missing, stopped }: Reading): string {
  const notes = Object.entries(NOTES).flatMap(([name, say]) => (counts[name] ? [say(counts[name])] : []));
  if (missing.length > 0) notes.push(`Not found: ${missing.join(", ")}`);
  if (stopped !== null) notes.push(`Not everything was read. ${stopped}`);
  return notes.map(noteText).join("");
}

export const noteText = (note: string): string => `${wrapText(note, "  · ", "    ")}\n`;
