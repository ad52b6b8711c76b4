/** `doctor`: reads threads and says what is wrong with them. It never writes. */

import { diagnoseThread } from "../doctor.js";
import type { FixKind } from "../finding.js";
import type { StoredThread } from "../stored-thread.js";
import { openTarget } from "../targets/open-target.js";
import type { ThreadRef, ThreadStore } from "../thread-store.js";
import type { CommandIo } from "./command-io.js";
import { EXIT, type ExitCode } from "./exit-codes.js";
import type { GivenOptions } from "./line/options.js";
import { selectionOf, targetFlags, targetOf, threadFlags } from "./line/target-of.js";
import { countThread, noCounts, outcomeOf, type PrintedThread } from "./output/doctor-report.js";
import { endingText, threadText } from "./output/doctor-text.js";
import { excerptOf } from "./output/excerpt-of.js";
import { readThreads } from "./read-threads.js";

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
