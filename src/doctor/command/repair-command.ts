/** `repair`: prints what it would do with each thread, and does it with `--apply`. */

import { open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { applyRepair, planRepair } from "../doctor.js";
import type { RepairPlan } from "../plan.js";
import { openReceipt, type ReceiptFile, type ReceiptWriter } from "../receipt.js";
import { openTarget } from "../targets/open-target.js";
import { reasonOf, UsageError } from "../targets/target.js";
import type { RepairOutcome, StoredThread, ThreadRef, ThreadStore } from "../thread-store.js";
import { askToWrite, type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { concurrencyOf, type Reading, readThreads } from "./doctor-command.js";
import { type GivenOptions, selectionFlags, selectionOf, targetFlags, targetOf } from "./options.js";
import {
  countRepair,
  isLeft,
  noRepairs,
  planText,
  printedPlan,
  type RepairCounts,
  repairEnding,
} from "./print.js";
import { amount } from "./text.js";

/** How often a thread that somebody else has written meanwhile gets a new plan. */
const TRIES = 3;

export async function runRepair(options: GivenOptions, io: CommandIo): Promise<ExitCode> {
  const { apply = false, yes = false } = options;
  const place = targetOf(options, io);
  if (apply && place.kind === "file")
    throw new UsageError(
      "A file cannot be repaired in place. Without --apply, repair shows what it would do. `repairHistory` of the library mends a list of messages.",
    );
  for (const name of ["receipt", "yes", "as-node"] as const)
    if (!apply && options[name] !== undefined)
      throw new UsageError(`--${name} needs --apply: without it, nothing is written.`);
  if (apply && !yes && !io.canAsk) throw new UsageError("Nobody can be asked here, so --apply needs --yes.");
  const receipt = apply ? await openLazyReceipt(options.receipt, io) : undefined;
  const concurrency = concurrencyOf(options);
  const store = await openTarget(place, { ...io, canWrite: apply, concurrency });
  try {
    return await repairAll(store, options, io, receipt);
  } finally {
    await receipt?.close();
    await store.close();
  }
}

type Done = { readonly plan: RepairPlan; readonly outcome: RepairOutcome | undefined };

async function repairAll(
  store: ThreadStore,
  options: GivenOptions,
  io: CommandIo,
  receipt: LazyReceipt | undefined,
): Promise<ExitCode> {
  const { format = "text", yes = false, "max-findings": most = Number.POSITIVE_INFINITY } = options;
  const concurrency = concurrencyOf(options);
  const selection = selectionOf(options, io.now());
  const { output } = io;
  const head = { schemaVersion: 1, target: store.target, applied: receipt !== undefined } as const;
  const reading = { selection, concurrency, quiet: options.quiet === true };
  if (format === "text") await output.write(`tether repair · ${store.target}\n\n`);
  if (format === "ndjson") await output.write(`${JSON.stringify({ type: "start", ...head })}\n`);
  let counts: RepairCounts = noRepairs();
  let listed = 0;
  let unlisted = 0;
  const printed: unknown[] = [];
  const print = async ({ plan, outcome }: Done): Promise<void> => {
    counts = countRepair(counts, plan, outcome);
    if (plan.kind !== "write" && outcome === undefined && plan.kind !== "skip") return;
    const steps = plan.kind === "write" ? plan.steps.length : 1;
    const left = Math.max(0, most - listed);
    listed += Math.min(steps, left);
    unlisted += steps - Math.min(steps, left);
    if (left === 0) return;
    const thread = printedPlan(plan, outcome, left);
    if (format === "json") printed.push(thread);
    else if (format === "ndjson") await output.write(`${JSON.stringify({ type: "thread", ...thread })}\n`);
    else await output.write(planText(plan, outcome, left));
  };

  const plan = (_: ThreadRef, thread: StoredThread): RepairPlan => planRepair(thread, planOptions(options));
  const write = async (ref: ThreadRef, thread: StoredThread): Promise<Done> => {
    if (receipt === undefined) return { plan: plan(ref, thread), outcome: undefined };
    return repairOne(store, ref, plan(ref, thread), options, receipt);
  };

  let end: Reading;
  if (receipt === undefined || yes) end = await readThreads(store, reading, io, write, print);
  else {
    // The operator sees the plan first. Each thread is then read and planned again, and written at once.
    const refs: string[] = [];
    end = await readThreads(
      store,
      reading,
      io,
      async (ref, thread) => ({ plan: plan(ref, thread), outcome: undefined }),
      async (done) => {
        if (done.plan.kind === "write") refs.push(done.plan.threadId);
        await print(done);
      },
    );
    if (refs.length > 0 && end.stopped === undefined) {
      const isMeant = await askToWrite(`Write ${amount(refs.length, "thread")} of ${store.target}?`, io);
      if (!isMeant) {
        await output.write("Nothing was written.\n");
        return EXIT.findings;
      }
      const { skipped, waiting, subgraphs, unreadable, otherGraph } = counts;
      counts = {
        ...noRepairs(),
        threads: counts.threads - refs.length,
        skipped,
        waiting,
        subgraphs,
        unreadable,
        otherGraph,
      };
      listed = 0;
      unlisted = 0;
      printed.length = 0;
      end = await readThreads(store, { ...reading, selection: { threadIds: refs } }, io, write, print);
    }
  }
  const { missing, stopped } = end;
  const left = isLeft(counts, receipt !== undefined) || missing.length > 0 || stopped !== undefined;
  const path = receipt?.writtenTo();
  const outcome = left ? "left" : "done";
  const rest = {
    outcome,
    counts,
    unlistedSteps: unlisted,
    missing,
    stopped: stopped ?? null,
    receipt: path ?? null,
  } as const;
  if (format === "json")
    await output.write(`${JSON.stringify({ ...head, ...rest, threads: printed }, undefined, 2)}\n`);
  else if (format === "ndjson")
    await output.write(`${JSON.stringify({ type: "summary", schemaVersion: 1, ...rest })}\n`);
  else
    await output.write(
      repairEnding({
        counts,
        missing,
        stopped,
        receipt: path,
        target: targetFlags(options, io),
        selection: [selectionFlags(options), options["no-harvest"] === true && "--no-harvest"]
          .filter(Boolean)
          .join(" "),
        isEmpty: listed === 0,
        isApplied: receipt !== undefined,
        canApply: store.canWrite || options.file === undefined,
      }),
    );
  return left ? EXIT.findings : EXIT.sound;
}

function planOptions(options: GivenOptions) {
  return { harvest: options["no-harvest"] !== true };
}

/** A thread that somebody else has written after it was planned gets a new plan. */
async function repairOne(
  store: ThreadStore,
  ref: ThreadRef,
  first: RepairPlan,
  options: GivenOptions,
  receipt: LazyReceipt,
): Promise<Done> {
  let plan = first;
  for (let tries = 1; ; tries += 1) {
    if (plan.kind !== "write") return { plan, outcome: undefined };
    const outcome = await applyRepair({ store, ref }, plan, {
      receipt,
      asNode: options["as-node"],
      ...planOptions(options),
      ...(options.dialect !== undefined && { dialect: options.dialect }),
    });
    if (outcome.kind !== "moved" || tries === TRIES) return { plan, outcome };
    plan = planRepair(await store.read(ref), planOptions(options));
  }
}

/** A receipt whose file is made with its first entry, so that a repair without a write leaves none. */
interface LazyReceipt extends ReceiptWriter {
  /** The path, as the operator can type it; undefined if nothing was written. */
  readonly writtenTo: () => string | undefined;
  close(): Promise<void>;
}

/**
 * @param path Undefined: a new name with the time.
 * @throws UsageError if the file exists already.
 */
async function openLazyReceipt(
  path: string | undefined,
  { folder, now }: Pick<CommandIo, "folder" | "now">,
): Promise<LazyReceipt> {
  const name = path ?? `tether-receipt-${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.jsonl`;
  const absolute = resolve(folder, name);
  const taken = new UsageError(
    `The receipt ${name} exists already. A receipt is never overwritten: choose another name.`,
  );
  if (await isThere(absolute)) throw taken;
  let opening: Promise<ReceiptFile> | undefined;
  const create = async (): Promise<ReceiptFile> => {
    try {
      // Fails if another repair has made it meanwhile.
      await (await open(absolute, "wx", 0o600)).close();
      return await openReceipt(absolute);
    } catch (error) {
      throw Object(error).code === "EEXIST"
        ? taken
        : new UsageError(`The receipt ${name} cannot be written: ${reasonOf(error)}`);
    }
  };
  return {
    append: async (entry) => {
      opening ??= create();
      await (await opening).append(entry);
    },
    writtenTo: () => (opening === undefined ? undefined : name),
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
