/** `repair`: prints what it would do with each thread, and does it with `--apply`. */

import { open, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { amount, printableLine } from "../../shared/text.js";
import { applyRepair, type RepairOutcome } from "../apply.js";
import { planRepair } from "../doctor.js";
import type { RepairPlan, SkipReason } from "../plan.js";
import { openReceipt, type ReceiptEntry } from "../receipt.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { targetIn, withTarget } from "../targets/targets.js";
import type { StoredThread, ThreadRef, ThreadStore } from "../thread-store.js";
import { askToWrite, type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { type Options, quietMsOf, typedOptions } from "./options.js";
import { isComplete, notesText, noteText, readThreads, startReport } from "./report.js";
import { entryText, nextCommand, quoted, wrapText } from "./text.js";

const FOR_WRITING = [
  ["receipt", "--receipt"],
  ["yes", "--yes"],
] as const;

export async function runRepair(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<Options>();
  const { apply = false, yes = false } = options;
  const target = targetIn(options);
  if (apply && !target.canWrite)
    throw new UsageError(
      `What ${target.option.long} names cannot be repaired in place. Without --apply, repair shows what it would do. \`repairHistory\` of the library repairs a list of messages.`,
    );
  for (const [name, long] of FOR_WRITING)
    if (!apply && options[name] !== undefined)
      throw new UsageError(`${long} needs --apply: without it, nothing is written.`);
  if (apply && !yes && !io.canAsk) throw new UsageError("Nobody can be asked here, so --apply needs --yes.");
  const quietMs = quietMsOf(options);
  return withTarget(options, { ...io, canWrite: apply, needsGraph: true, quietMs }, async (store) => {
    const receipt = apply ? await createReceipt(options.receipt, io) : undefined;
    try {
      return await repairAll(store, command, io, receipt);
    } finally {
      await receipt?.close();
    }
  });
}

/** What was planned for a thread, and what became of it. Undefined: nothing was written. */
interface Done {
  readonly plan: RepairPlan;
  readonly outcome?: RepairOutcome;
}

async function repairAll(
  store: ThreadStore,
  command: Command,
  io: CommandIo,
  receipt: Receipt | undefined,
): Promise<ExitCode> {
  const options = command.opts<Options>();
  const { format, yes = false } = options;
  const isApplied = receipt !== undefined;
  const report = await startReport("repair", { target: store.target, applied: isApplied }, options, io);
  const kinds = Object.keys(MARKS).map((kind) => [kind, 0]);
  const counts: Counts = { threads: 0, ...Object.fromEntries(kinds) };
  const count = (done: Done): void => {
    counts[kindOf(done)] += 1;
    if (done.plan.namespace === "") counts.threads += 1;
  };
  const print = async (done: Done): Promise<void> => {
    if (done.plan.kind !== "nothing") await report.thread(printedPlan(done), planText(done));
  };
  const take = async (done: Done): Promise<void> => {
    count(done);
    await print(done);
  };
  /** @param into Undefined: the repairs are only planned. */
  const workWith = (into: Receipt | undefined) => (ref: ThreadRef, thread: StoredThread) =>
    repairOne(store, ref, thread, options, into);
  // The operator sees the plan first. Each thread is then read and planned again, and written at once.
  const asks = isApplied && !yes;
  const planned: Done[] = [];
  let isAgreed = false;
  let reading = await readThreads(store, options, io, workWith(asks ? undefined : receipt), async (done) => {
    const { plan } = done;
    if (!asks || plan.kind !== "write") return take(done);
    // Only what is printed is kept of a plan, because many threads' messages would fill the memory.
    planned.push({ plan: { ...plan, before: [], after: [] } });
    count(done);
    if (format === "text") await print(done);
  });
  /** The planned threads whose turn did not come. */
  const unwritten = new Set(planned.map(({ plan }) => plan.threadId));
  const question = `Write ${amount(planned.length, "thread")} of ${store.target}?`;
  if (planned.length > 0 && reading.stopped === null && (await askToWrite(question, io))) {
    counts.threads -= planned.length;
    counts.planned = 0;
    isAgreed = true;
    const again = { thread: planned.map(({ plan }) => plan.threadId) };
    const written = await readThreads(store, again, io, workWith(receipt), async (done) => {
      unwritten.delete(done.plan.threadId);
      await take(done);
    });
    for (const threadId of written.missing) unwritten.delete(threadId);
    counts.planned = unwritten.size;
    counts.threads += unwritten.size;
    if (format !== "text")
      for (const done of planned) if (unwritten.has(done.plan.threadId)) await print(done);
    reading = { ...written, missing: [...reading.missing, ...written.missing] };
  } else if (format !== "text") {
    // A program hears about a thread once: what became of it.
    for (const done of planned) await print(done);
  }
  const { unreadable, otherGraph, otherChannel, moved, failed, skipped } = counts;
  const left =
    counts.planned + unreadable + otherGraph + otherChannel + moved + failed + (isApplied ? skipped : 0);
  const isLeft = left > 0 || !isComplete(reading);
  const path = receipt?.writtenTo() ?? null;
  await report.end(
    {
      outcome: isLeft ? "left" : "done",
      counts,
      ...reading,
      receipt: path,
    },
    // All that was planned had been read.
    notesText(counts, isAgreed ? { ...reading, stopped: null } : reading) +
      stoppedText(reading.stopped, isAgreed ? [...unwritten] : undefined, isApplied) +
      verdictText(counts, isApplied && (isAgreed || counts.planned === 0)) +
      nextText(counts, command, io, path),
  );
  return isLeft ? EXIT.findings : EXIT.sound;
}

/** How many times a thread that somebody else has written meanwhile gets a new plan. */
const TRIES = 3;

async function repairOne(
  store: ThreadStore,
  ref: ThreadRef,
  thread: StoredThread,
  { dialect }: Options,
  receipt: Receipt | undefined,
): Promise<Done> {
  let plan = planRepair(thread);
  for (let tries = 1; ; tries += 1) {
    if (plan.kind !== "write" || receipt === undefined) return { plan };
    const outcome = await applyRepair({ store, ref }, plan, { receipt, dialect });
    if (outcome.kind !== "moved" || tries === TRIES) return { plan, outcome };
    plan = planRepair(await store.read(ref));
  }
}

/*
 * What was planned and done, as counts, as JSON, and as text for people.
 */

/** What can become of a thread, with its mark in the text. */
const MARKS = {
  /** It needs a write and did not get it: the plan was only printed. */
  planned: "→",
  repaired: "✓",
  /** It needs no repair. */
  nothing: "·",
  /** It is busy, and was not changed. */
  skipped: "·",
  /** It waits for a human. It is never changed. */
  waiting: "·",
  unreadable: "✗",
  subgraphs: "·",
  /** It needs a repair and belongs to another graph. It was not changed. */
  otherGraph: "!",
  otherMessages: "·",
  /** It needs a repair, and its messages are in another channel. It was not changed. */
  otherChannel: "!",
  /** Others wrote to it again and again. It was not changed. */
  moved: "!",
  failed: "✗",
} as const;

type Kind = keyof typeof MARKS;
type Counts = Record<Kind | "threads", number>;

const SKIPPED = {
  busy: "skipped",
  waiting: "waiting",
  unreadable: "unreadable",
  subgraph: "subgraphs",
  "other-graph": "otherGraph",
  "other-messages": "otherMessages",
  "other-channel": "otherChannel",
} as const satisfies Record<SkipReason, Kind>;

function kindOf({ plan, outcome }: Done): Kind {
  if (outcome?.kind === "skipped") return SKIPPED[outcome.reason];
  if (outcome !== undefined) return outcome.kind;
  if (plan.kind === "skip") return SKIPPED[plan.reason];
  return plan.kind === "write" ? "planned" : "nothing";
}

/** A thread in JSON. It contains no messages. */
function printedPlan(done: Done): object {
  const { plan, outcome } = done;
  const { threadId, namespace, checkpointId } = plan;
  return {
    threadId,
    namespace,
    checkpointId,
    outcome: kindOf(done),
    reason: plan.kind === "skip" ? plan.reason : outcome?.kind === "skipped" ? outcome.reason : null,
    error: outcome?.kind === "failed" ? outcome.error : null,
    newCheckpointId: outcome?.kind === "repaired" ? outcome.checkpointId : null,
    steps: plan.kind === "write" ? plan.steps : [],
    unplaced: plan.kind === "write" ? plan.unplaced.map(({ message: _, ...rest }) => rest) : [],
  };
}

/** The text lists at most this many steps of a thread. */
const LISTED_STEPS = 20;
const LISTED_UNPLACED = 5;

/** A thread's plan, and what became of it. */
function planText(done: Done): string {
  const { plan, outcome } = done;
  if (plan.kind === "skip" && (plan.reason === "waiting" || plan.reason === "subgraph")) return "";
  const lines: string[] = [];
  const add = (text: string): number => lines.push(wrapText(text, "      ", "        "));
  if (plan.kind === "skip") add(plan.description);
  if (plan.kind === "write") {
    const shown = plan.steps.slice(0, LISTED_STEPS);
    for (const { kind, description } of shown) add(`${kind}: ${description}`);
    const others = plan.steps.length - shown.length;
    if (others > 0) add(`… and ${amount(others, "more step")}`);
    for (const { callId, reason } of plan.unplaced.slice(0, LISTED_UNPLACED))
      add(`kept in the receipt only: ${callId === null ? "a value" : `the result of ${callId}`}. ${reason}`);
  }
  if (outcome?.kind === "failed") add(`failed: ${outcome.error}`);
  if (outcome?.kind === "skipped") add(outcome.description);
  if (outcome?.kind === "moved") add("Somebody else wrote to the thread, so it was not changed.");
  return entryText(MARKS[kindOf(done)], plan.threadId, lines);
}

const LISTED_THREADS = 8;

/** What an interrupted command has left, and how to go on. @param left Undefined: not everything was read. */
function stoppedText(
  stopped: string | null,
  left: readonly string[] | undefined,
  isApplied: boolean,
): string {
  if (stopped === null || !isApplied) return "";
  if (left === undefined) return noteText("What was not read was not changed. Run the command again for it.");
  const named = left.slice(0, LISTED_THREADS).map((id) => printableLine(id));
  const others = left.length > named.length ? ` and ${amount(left.length - named.length, "other")}` : "";
  const are = left.length === 1 ? "thread was" : "threads were";
  return noteText(
    `${stopped} ${left.length} ${are} not changed: ${named.join(", ")}${others}. Run the command again for ${left.length === 1 ? "it" : "them"}.`,
  );
}

function verdictText({ planned, repaired, nothing }: Counts, isApplied: boolean): string {
  const sound = `${amount(nothing, "thread needs", "threads need")} no repair.`;
  return isApplied
    ? `  ${amount(repaired, "thread was", "threads were")} repaired. ${sound}\n`
    : `  ${amount(planned, "thread", "threads")} would be repaired. ${sound} Nothing was written.\n`;
}

/** The command that writes the repairs, or the one that takes them back. Empty if nothing is to be done. */
function nextText({ planned }: Counts, command: Command, io: CommandIo, receipt: string | null): string {
  const { apply } = command.opts<Options>();
  const target = typedOptions(command, "target", io);
  if (receipt !== null)
    return nextCommand("Take the repairs back:", ["npx langgraph-tether undo", quoted(receipt), ...target]);
  if (apply || planned === 0 || !targetIn(command.opts()).canWrite) return "";
  const selected = typedOptions(command, "select", io);
  return nextCommand("Write the repairs:", [
    "npx langgraph-tether repair",
    ...target,
    ...selected,
    "--apply",
  ]);
}

type Receipt = Awaited<ReturnType<typeof createReceipt>>;

/**
 * Makes a receipt. A receipt without entries is deleted when it is closed.
 *
 * @param path Undefined: a new name with the time.
 * @throws UsageError if the file already exists, or cannot be made.
 */
async function createReceipt(path: string | undefined, { folder, now }: CommandIo) {
  const name = path ?? `tether-receipt-${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.jsonl`;
  const absolute = resolve(folder, name);
  const unwritable = (error: unknown): string => `The receipt ${name} cannot be written: ${reasonOf(error)}`;
  await open(absolute, "wx", 0o600).then(
    (file) => file.close(),
    (error: unknown) => {
      throw new UsageError(
        Object(error).code === "EEXIST"
          ? `The receipt ${name} exists already. A receipt is never overwritten: choose another name.`
          : unwritable(error),
      );
    },
  );
  const file = await openReceipt(absolute);
  let isEmpty = true;
  return {
    append: async (entry: ReceiptEntry) => {
      isEmpty = false;
      await file.append(entry).catch((error: unknown) => {
        throw new Error(unwritable(error));
      });
    },
    /** The path, as the operator can type it; undefined if nothing was written. */
    writtenTo: () => (isEmpty ? undefined : name),
    close: async () => {
      await file.close();
      if (isEmpty) await rm(absolute);
    },
  };
}
