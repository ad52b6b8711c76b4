/** `doctor`: reads threads and says what is wrong with them. It never writes. */

import { setImmediate } from "node:timers/promises";
import { diagnoseThread } from "../doctor.js";
import type { FixKind } from "../finding.js";
import { openTarget } from "../targets/open-target.js";
import { reasonOf, UsageError } from "../targets/target.js";
import type { StoredThread, ThreadRef, ThreadSelection, ThreadStore } from "../thread-store.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { type GivenOptions, selectionOf, targetFlags, targetOf, threadFlags } from "./options.js";
import { countThread, endingText, noCounts, outcomeOf, type PrintedThread, threadText } from "./print.js";
import { excerptOf, startProgress } from "./text.js";

/** What `repair` does. */
const MENDED: ReadonlySet<FixKind> = new Set<FixKind>([
  "recover-result",
  "close-call",
  "take-out",
  "move",
  "mend",
  "rewrite",
]);
/** A command names at most this many threads. */
const MOST_NAMED = 8;
const DEFAULT_CONCURRENCY = 4;

export const concurrencyOf = ({ concurrency = DEFAULT_CONCURRENCY }: GivenOptions): number => concurrency;

export async function runDoctor(options: GivenOptions, io: CommandIo): Promise<ExitCode> {
  const concurrency = concurrencyOf(options);
  const selection = selectionOf(options, io.now());
  const store = await openTarget(targetOf(options, io), { ...io, canWrite: false, concurrency });
  try {
    return await diagnoseAll(store, options, io, { selection, concurrency, quiet: options.quiet === true });
  } finally {
    await store.close();
  }
}

async function diagnoseAll(
  store: ThreadStore,
  options: GivenOptions,
  io: CommandIo,
  reading: Parameters<typeof readThreads>[1],
): Promise<ExitCode> {
  const {
    format = "text",
    dialect,
    "max-tokens": maxTokens,
    "fail-on": failOn = "error",
    "max-findings": most = Number.POSITIVE_INFINITY,
  } = options;
  const repair = `npx langgraph-tether repair ${targetFlags(options, io)}`;
  const { output } = io;
  const head = { schemaVersion: 1, target: store.target } as const;
  let counts = noCounts();
  let listed = 0;
  let unlisted = 0;
  let isEmpty = true;
  const printed: PrintedThread[] = [];
  const broken: string[] = [];
  if (format === "text") await output.write(`tether doctor · ${store.target}\n\n`);
  if (format === "ndjson") await output.write(`${JSON.stringify({ type: "start", ...head })}\n`);

  const work = async (ref: ThreadRef, thread: StoredThread) => {
    const measured = await withSizes(store, ref, thread);
    const report = diagnoseThread(measured, { maxTokens, ...(dialect !== undefined && { dialect }) });
    return { report, excerpts: options["no-redact"] === true ? thread : undefined };
  };
  const { missing, stopped } = await readThreads(store, reading, io, work, async ({ report, excerpts }) => {
    counts = countThread(counts, report);
    const canRepair =
      !isWaiting(report.status) && report.findings.every(({ code }) => code !== "state/other-graph");
    const isMended =
      canRepair &&
      report.findings.some(
        ({ severity, fixes }) => severity !== "info" && fixes.some(({ kind }) => MENDED.has(kind)),
      );
    if (isMended && broken.length <= MOST_NAMED) broken.push(report.threadId);
    const shown = report.findings.slice(0, Math.max(0, most - listed));
    listed += shown.length;
    unlisted += report.findings.length - shown.length;
    if (shown.length === 0) return;
    const { schemaVersion: _, ...fields } = report;
    const command = `${repair} ${threadFlags([report.threadId])}`;
    const findings = shown.map((finding) => ({
      ...finding,
      fixes: finding.fixes.map((fix) => ({
        ...fix,
        command: MENDED.has(fix.kind) && canRepair ? command : null,
      })),
      ...(excerpts !== undefined &&
        finding.index !== null && { excerpt: excerptOf(excerpts, finding.index) }),
    }));
    const thread: PrintedThread = { ...fields, findings };
    if (format === "json") printed.push(thread);
    else if (format === "ndjson") await output.write(`${JSON.stringify({ type: "thread", ...thread })}\n`);
    else if (isWorthALine(thread)) {
      isEmpty = false;
      await output.write(threadText(thread));
    }
  });

  const isComplete = missing.length === 0 && stopped === undefined;
  const outcome = outcomeOf(counts, failOn, isComplete);
  const rest = { outcome, counts, unlistedFindings: unlisted, missing, stopped: stopped ?? null } as const;
  if (format === "json")
    await output.write(`${JSON.stringify({ ...head, ...rest, threads: printed }, undefined, 2)}\n`);
  else if (format === "ndjson")
    await output.write(`${JSON.stringify({ type: "summary", schemaVersion: 1, ...rest })}\n`);
  else {
    const names = broken.length > MOST_NAMED ? "" : ` ${threadFlags(broken)}`;
    const mend = broken.length === 0 ? undefined : `${repair}${names}`;
    await output.write(endingText({ counts, isEmpty, unlisted, missing, stopped, mend }));
  }
  return outcome === "partly-read" ? EXIT.partlyRead : outcome === "findings" ? EXIT.findings : EXIT.sound;
}

const isWaiting = (status: string): boolean => status === "interrupted";

/** Threads that only wait, and subgraphs without a fault, are counted below. */
function isWorthALine({ findings }: PrintedThread): boolean {
  return findings.some(
    ({ severity, code }) =>
      severity !== "info" || code === "pairing/open-call" || code === "state/pending-result",
  );
}

/** Growth is a finding of the doctor too. A size that cannot be measured is no fault of the thread. */
async function withSizes(store: ThreadStore, ref: ThreadRef, thread: StoredThread): Promise<StoredThread> {
  if (ref.namespace !== "" || store.measure === undefined || thread.messagesChannel === "delta")
    return thread;
  const sizes = await store.measure(ref).catch(() => undefined);
  return sizes === undefined ? thread : { ...thread, sizes };
}

/** After this many threads in a row whose read failed, the store itself is taken to have failed. */
const MOST_FAILURES = 5;

interface ReadOptions {
  readonly selection: ThreadSelection;
  readonly concurrency: number;
  readonly quiet: boolean;
}

/** How the reading of a target ended. */
export interface Reading {
  readonly threads: number;
  /** The threads that were asked for, and are not there. */
  readonly missing: readonly string[];
  /** Why not everything was read; undefined if everything was. */
  readonly stopped: string | undefined;
}

/**
 * Reads threads, several at once, and passes what is made of them on in order.
 *
 * @param work Contract: called for several threads at once.
 * @param take Contract: called for one result at a time, in the order of the threads.
 * @throws UsageError if none of the threads that were asked for is there.
 */
export async function readThreads<Result>(
  store: ThreadStore,
  { selection, concurrency, quiet }: ReadOptions,
  io: CommandIo,
  work: (ref: ThreadRef, thread: StoredThread) => Promise<Result>,
  take: (result: Result) => Promise<void>,
): Promise<Reading> {
  const progress = startProgress(io, quiet);
  const seen = new Set<string>();
  let threads = 0;
  let failures = 0;
  let stopped: string | undefined;
  const results = mapInOrder(store.threads(selection), concurrency, io.signal, async (ref) => {
    // SQLite answers at once, so without this no signal would be noticed before the end.
    await setImmediate();
    let thread: StoredThread;
    try {
      thread = await store.read(ref);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures >= MOST_FAILURES) throw error;
      thread = unreadable(ref, reasonOf(error));
    }
    const isMeant = selection.status === undefined || thread.status === selection.status;
    return { ref, result: isMeant ? { value: await work(ref, thread) } : undefined };
  });
  try {
    for await (const { ref, result } of results) {
      if (selection.threadIds !== undefined) seen.add(ref.threadId);
      if (result === undefined) continue;
      if (ref.namespace === "") threads += 1;
      await progress.count();
      await take(result.value);
    }
    if (io.signal.aborted) stopped = "It was interrupted.";
  } catch (error) {
    if (UsageError.isInstance(error)) throw error;
    stopped = reasonOf(error);
  } finally {
    await progress.end();
  }
  const missing = stopped === undefined ? (selection.threadIds ?? []).filter((id) => !seen.has(id)) : [];
  if (missing.length > 0 && seen.size === 0)
    throw new UsageError(`${store.target} has no thread ${missing.join(" and no thread ")}.`);
  return { threads, missing, stopped };
}

function unreadable({ threadId, namespace }: ThreadRef, reason: string): StoredThread {
  return {
    threadId,
    namespace,
    checkpointId: undefined,
    status: "error",
    content: { kind: "unreadable", reason },
    endedRuns: [],
    openTasks: undefined,
    otherChannels: [],
  };
}

/**
 * Works on several items at once, and gives the results in the order of the items. At most `concurrency` results wait.
 *
 * @param signal When it is aborted, no further item is begun, and what was begun is finished.
 */
async function* mapInOrder<Item, Result>(
  items: AsyncIterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const waiting: Promise<Result>[] = [];
  const begin = (item: Item): void => {
    const result = work(item);
    // It is awaited in its turn. Until then, a rejection must not end the process.
    result.catch(() => {});
    waiting.push(result);
  };
  const iterator = items[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const next = await iterator.next();
      if (next.done === true) break;
      begin(next.value);
      const [first] = waiting;
      if (waiting.length < concurrency || first === undefined) continue;
      yield await first;
      waiting.shift();
    }
    for (const result of waiting) yield await result;
  } finally {
    await Promise.allSettled(waiting);
    await iterator.return?.();
  }
}
