/** `repair`: prints what it would do with each thread, and does it with `--apply`. */

import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { amount, printableLine } from "../../shared/text.js";
import { applyRepair, type RepairOutcome } from "../apply.js";
import { planRepair } from "../doctor.js";
import type { RepairPlan, RepairStep } from "../plan.js";
import { openReceipt, type ReceiptEntry, type ReceiptFile } from "../receipt.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { openTarget, targetOf } from "../targets/targets.js";
import type { StoredThread, ThreadRef, ThreadStore } from "../thread-store.js";
import { askToWrite, type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import {
  type JudgeOptions,
  type OutputOptions,
  type SelectOptions,
  typedOptions,
  type WriteOptions,
} from "./options.js";
import { quoted, wrapCommand, wrapText } from "./text.js";
import { Listing, notesText, PRINTERS, readThreads } from "./threads.js";

type RepairOptions = SelectOptions & OutputOptions & WriteOptions & Pick<JudgeOptions, "dialect">;

/** How often a thread that somebody else has written meanwhile gets a new plan. */
const TRIES = 3;

export async function runRepair(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<RepairOptions>();
  const { apply = false, yes = false, concurrency } = options;
  const target = targetOf(options);
  if (apply && !target.canWrite)
    throw new UsageError(
      `What ${target.option.long} names cannot be repaired in place. Without --apply, repair shows what it would do. \`repairHistory\` of the library mends a list of messages.`,
    );
  for (const name of ["receipt", "yes", "asNode"] as const)
    if (!apply && options[name] !== undefined) {
      const { long } = Object(command.options.find((option) => option.attributeName() === name));
      throw new UsageError(`${long} needs --apply: without it, nothing is written.`);
    }
  if (apply && !yes && !io.canAsk) throw new UsageError("Nobody can be asked here, so --apply needs --yes.");
  const receipt = apply ? await openLazyReceipt(options.receipt, io) : undefined;
  const store = await openTarget(options, { ...io, canWrite: apply, concurrency });
  try {
    return await repairAll(store, command, io, receipt);
  } finally {
    await receipt?.close();
    await store.close();
  }
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
  receipt: LazyReceipt | undefined,
): Promise<ExitCode> {
  const options = command.opts<RepairOptions>();
  const { format, yes = false, maxFindings, harvest } = options;
  const isApplied = receipt !== undefined;
  const head = { target: store.target, applied: isApplied };
  const printer = await PRINTERS[format]("repair", head, io.output.write);
  const counts: Counts = { ...NO_COUNTS };
  let listing = new Listing(maxFindings);
  const count = ({ plan, outcome }: Done): void => {
    counts[kindOf(plan, outcome)] += 1;
    if (plan.namespace === "") counts.threads += 1;
  };
  const print = async ({ plan, outcome }: Done): Promise<void> => {
    if (plan.kind === "nothing" && outcome === undefined) return;
    // A thread that is skipped counts as one step.
    const listed = listing.take<RepairStep | undefined>(plan.kind === "write" ? plan.steps : [undefined]);
    if (listed.length === 0) return;
    const steps = listed.filter((step) => step !== undefined);
    await printer.thread(printedPlan(plan, outcome, steps), planText(plan, outcome, steps));
  };
  /** @param into Undefined: the repairs are only planned. */
  const workWith = (into: LazyReceipt | undefined) => (ref: ThreadRef, thread: StoredThread) =>
    repairOne(store, ref, planRepair(thread, { harvest }), options, into);
  // The operator sees the plan first. Each thread is then read and planned again, and written at once.
  const asks = isApplied && !yes;
  const planned: string[] = [];
  let reading = await readThreads(store, options, io, workWith(asks ? undefined : receipt), async (each) => {
    const isPlanned = asks && each.plan.kind === "write";
    if (isPlanned) planned.push(each.plan.threadId);
    count(each);
    // A program is told of a thread once: what became of it.
    if (!isPlanned || format === "text") await print(each);
  });
  if (planned.length > 0 && reading.stopped === null) {
    const question = `Write ${amount(planned.length, "thread")} of ${store.target}?`;
    if (!(await askToWrite(question, io))) return EXIT.findings;
    counts.threads -= planned.length;
    counts.planned = 0;
    listing = new Listing(maxFindings);
    const { concurrency, quiet } = options;
    const again = { thread: planned, concurrency, ...(quiet && { quiet }) };
    const written = await readThreads(store, again, io, workWith(receipt), async (each) => {
      count(each);
      await print(each);
    });
    reading = { ...written, missing: [...reading.missing, ...written.missing] };
  }
  const { unreadable, otherGraph, moved, failed, skipped } = counts;
  const left = counts.planned + unreadable + otherGraph + moved + failed + (isApplied ? skipped : 0);
  const isLeft = left > 0 || reading.missing.length > 0 || reading.stopped !== null;
  const outcome = isLeft ? "left" : "done";
  const path = receipt?.writtenTo() ?? null;
  await printer.end(
    { outcome, counts, unlistedSteps: listing.unlisted, ...reading, receipt: path },
    notesText(counts, reading) + verdictText(counts, isApplied) + nextText(counts, command, io, path),
  );
  return isLeft ? EXIT.findings : EXIT.sound;
}

/** A thread that somebody else has written after it was planned gets a new plan. */
async function repairOne(
  store: ThreadStore,
  ref: ThreadRef,
  first: RepairPlan,
  options: RepairOptions,
  receipt: LazyReceipt | undefined,
): Promise<Done> {
  const { asNode, harvest, dialect } = options;
  let plan = first;
  for (let tries = 1; ; tries += 1) {
    if (plan.kind !== "write" || receipt === undefined) return { plan };
    const outcome = await applyRepair({ store, ref }, plan, { receipt, asNode, harvest, dialect });
    if (outcome.kind !== "moved" || tries === TRIES) return { plan, outcome };
    plan = planRepair(await store.read(ref), { harvest });
  }
}

/*
 * What was planned and done, as counts, as JSON, and as text for people.
 */

const NO_COUNTS = {
  threads: 0,
  /** Threads that need a write and did not get it: the plan was only printed. */
  planned: 0,
  repaired: 0,
  /** Threads that need no repair. */
  nothing: 0,
  /** Busy threads. They were not changed. */
  skipped: 0,
  /** Threads that wait for a human. They are never changed. */
  waiting: 0,
  unreadable: 0,
  subgraphs: 0,
  /** Threads that need a repair and belong to another graph. They were not changed. */
  otherGraph: 0,
  /** Threads that others wrote to again and again. They were not changed. */
  moved: 0,
  failed: 0,
};

type Counts = typeof NO_COUNTS;

const SKIPPED = {
  busy: "skipped",
  waiting: "waiting",
  unreadable: "unreadable",
  subgraph: "subgraphs",
  "other-graph": "otherGraph",
} as const;

function kindOf(plan: RepairPlan, outcome: RepairOutcome | undefined): Exclude<keyof Counts, "threads"> {
  if (outcome?.kind === "skipped") return SKIPPED[outcome.reason];
  if (outcome !== undefined) return outcome.kind;
  if (plan.kind === "skip") return SKIPPED[plan.reason];
  return plan.kind === "write" ? "planned" : "nothing";
}

/** A thread in JSON. It contains no messages. */
function printedPlan(
  plan: RepairPlan,
  outcome: RepairOutcome | undefined,
  steps: readonly RepairStep[],
): object {
  const { threadId, namespace, checkpointId } = plan;
  return {
    threadId,
    namespace,
    checkpointId,
    outcome: kindOf(plan, outcome),
    reason: plan.kind === "skip" ? plan.reason : outcome?.kind === "skipped" ? outcome.reason : null,
    error: outcome?.kind === "failed" ? outcome.error : null,
    newCheckpointId: outcome?.kind === "repaired" ? outcome.checkpointId : null,
    steps,
    unplaced: plan.kind === "write" ? plan.unplaced.map(({ message: _, ...rest }) => rest) : [],
  };
}

/** The text lists at most this many steps of a thread. */
const LISTED_STEPS = 20;
const LISTED_UNPLACED = 5;

const MARKS = {
  nothing: "·",
  planned: "→",
  repaired: "✓",
  skipped: "·",
  waiting: "·",
  unreadable: "✗",
  subgraphs: "·",
  otherGraph: "!",
  moved: "!",
  failed: "✗",
} as const;

/** The plan of a thread, with these of its steps, and what became of it. */
function planText(
  plan: RepairPlan,
  outcome: RepairOutcome | undefined,
  listed: readonly RepairStep[],
): string {
  if (plan.kind === "skip" && (plan.reason === "waiting" || plan.reason === "subgraph")) return "";
  const lines = [`  ${MARKS[kindOf(plan, outcome)]} ${printableLine(plan.threadId)}`];
  const add = (text: string): number => lines.push(wrapText(text, "      ", "        "));
  if (plan.kind === "skip") add(plan.description);
  if (plan.kind === "write") {
    const shown = listed.slice(0, LISTED_STEPS);
    for (const { kind, description } of shown) add(`${kind}: ${description}`);
    const others = plan.steps.length - shown.length;
    if (others > 0) add(`… and ${amount(others, "more step")}`);
    for (const { callId, reason } of plan.unplaced.slice(0, LISTED_UNPLACED))
      add(`kept in the receipt only: ${callId === null ? "a value" : `the result of ${callId}`}. ${reason}`);
  }
  if (outcome?.kind === "failed") add(`failed: ${outcome.error}`);
  if (outcome?.kind === "skipped") add(outcome.description);
  if (outcome?.kind === "moved") add("Somebody else wrote to the thread, so it was not changed.");
  return `${lines.join("\n")}\n`;
}

function verdictText({ planned, repaired, nothing }: Counts, isApplied: boolean): string {
  const sound = `${amount(nothing, "thread needs", "threads need")} no repair.`;
  return isApplied
    ? `  ${amount(repaired, "thread was", "threads were")} repaired. ${sound}\n`
    : `  ${amount(planned, "thread", "threads")} would be repaired. ${sound} Nothing was written.\n`;
}

/** The command that writes the repairs, or the one that takes them back. Empty if nothing is to be done. */
function nextText({ planned }: Counts, command: Command, io: CommandIo, receipt: string | null): string {
  const target = typedOptions(command, "target", io);
  const isWritable = targetOf(command.opts()).canWrite;
  if (receipt !== null) {
    const undo = ["npx langgraph-tether undo", quoted(receipt), ...target];
    return `\n  Take the repairs back:\n${wrapCommand(undo, "    ")}\n`;
  }
  if (command.getOptionValue("apply") || planned === 0 || !isWritable) return "";
  const harvest = command.getOptionValue("harvest") === false ? ["--no-harvest"] : [];
  const selected = typedOptions(command, "select", io);
  const repair = ["npx langgraph-tether repair", ...target, ...selected, ...harvest, "--apply"];
  return `\n  Write the repairs:\n${wrapCommand(repair, "    ")}\n`;
}

/** A receipt whose file is made with its first entry, so that a repair without a write leaves none. */
type LazyReceipt = Awaited<ReturnType<typeof openLazyReceipt>>;

/**
 * @param path Undefined: a new name with the time.
 * @throws UsageError if the file exists already.
 */
async function openLazyReceipt(path: string | undefined, { folder, now }: Pick<CommandIo, "folder" | "now">) {
  const name = path ?? `tether-receipt-${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.jsonl`;
  const absolute = resolve(folder, name);
  if (existsSync(absolute))
    throw new UsageError(
      `The receipt ${name} exists already. A receipt is never overwritten: choose another name.`,
    );
  let opening: Promise<ReceiptFile> | undefined;
  const create = async (): Promise<ReceiptFile> => {
    try {
      // Fails if another repair has made it meanwhile.
      await (await open(absolute, "wx", 0o600)).close();
      return await openReceipt(absolute);
    } catch (error) {
      throw new UsageError(`The receipt ${name} cannot be written: ${reasonOf(error)}`);
    }
  };
  return {
    append: async (entry: ReceiptEntry) => {
      opening ??= create();
      await (await opening).append(entry);
    },
    /** The path, as the operator can type it; undefined if nothing was written. */
    writtenTo: () => (opening === undefined ? undefined : name),
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}
