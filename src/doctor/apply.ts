/** Carries out a plan, and takes it back. */

import { randomUUID } from "node:crypto";
import { z } from "zod/v4";
import {
  aFunction,
  checkGiven,
  checkSettings,
  flag,
  hintAtPromise,
  type Rule,
  type Rules,
} from "../shared/check-settings.js";
import { amount } from "../shared/text.js";
import { hasMethods, isRecord } from "../shared/values.js";
import type { ThreadReport } from "./finding.js";
import { DIAGNOSE_RULES, type DiagnoseOptions, reportOn } from "./findings.js";
import { storeRule, storeThreadOf, type ThreadPlace } from "./graph-store.js";
import { planFor, type RepairPlan, type RepairStep, type SkipReason, skipOf } from "./plan.js";
import {
  isEntry,
  type ReceiptEntry,
  type ReceiptIntent,
  type ReceiptResult,
  type ReceiptWriter,
} from "./receipt.js";
import {
  errorText,
  hashList,
  type StoredThread,
  storedListOf,
  type ThreadRef,
  type ThreadStore,
  type ThreadWrite,
  toStoredJson,
} from "./thread-store.js";

/** What became of one thread's repair. */
export type RepairOutcome = {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
} & (
  | { readonly kind: "nothing" }
  | { readonly kind: "skipped"; readonly reason: SkipReason; readonly description: string }
  /** The thread was written, read back, and has nothing left to repair. */
  | {
      readonly kind: "repaired";
      readonly checkpointId: string | null;
      readonly steps: readonly RepairStep[];
      /** What the doctor finds afterwards. */
      readonly report: ThreadReport;
    }
  /** Somebody else wrote to the thread first. Nothing was written: make a new plan. */
  | { readonly kind: "moved" }
  /** The write failed, or what was read back differs from what was written. `undo` restores what the receipt has. */
  | { readonly kind: "failed"; readonly error: string }
);

/** What became of one thread's undo. */
export type UndoOutcome = {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
} & (
  | { readonly kind: "restored"; readonly checkpointId: string | null }
  /** The thread already has the earlier list: nothing was written, or it was restored before. */
  | { readonly kind: "unchanged" }
  /** The thread has moved on since the repair. Nothing was written. */
  | { readonly kind: "moved"; readonly description: string }
  | { readonly kind: "skipped"; readonly reason: SkipReason; readonly description: string }
  | { readonly kind: "failed"; readonly error: string }
);

/** The options of `applyRepair`. */
export interface ApplyOptions extends DiagnoseOptions {
  /** Gets every message of the thread before the first write. `undo` needs it. */
  readonly receipt: ReceiptWriter;
  /** Contract: the time for the receipt. @default the clock */
  readonly now?: (() => Date) | undefined;
}

const receiptRule = {
  schema: z.custom<ReceiptWriter>((value) => hasMethods(value, "append")),
  expects: "what `openReceipt` returns, or an object with `append`",
  hint: (value) =>
    typeof value === "string" ? " Did you mean `await openReceipt(path)`?" : hintAtPromise(value),
} satisfies Rule;

const APPLY_RULES = { ...DIAGNOSE_RULES, receipt: receiptRule, now: aFunction() } satisfies Rules;

const planRule = {
  schema: z.custom<RepairPlan>(
    (value) => isRecord(value) && ["nothing", "skip", "write"].includes(String(value["kind"])),
  ),
  expects: "what `planRepair` returns",
  hint: hintAtPromise,
} satisfies Rule;

/**
 * Carries out a plan in this order. Every message goes into the receipt, and the latest checkpoint is compared with the
 * plan's. The thread is written in one step, read back and checked. Earlier checkpoints stay. Only the messages change;
 * pending writes of finished tasks are also applied, as in each `updateState`.
 *
 * Stop the thread's runs first: a database does not tell whether a run is going on.
 *
 * @throws InvalidSettingError for a wrong option, or if the graph, its checkpointer or the config cannot be used.
 * @throws The receipt's error, if it cannot be written. Then the thread is not written either.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
 * import { applyRepair, planRepair, type ReceiptEntry } from "langgraph-tether/doctor";
 *
 * const graph = new StateGraph(MessagesAnnotation)
 *   .addNode("model", () => ({}))
 *   .addEdge("__start__", "model")
 *   .compile({ checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * await graph.invoke(
 *   {
 *     messages: [
 *       new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *       new HumanMessage({ id: "b", content: "Are you there?" }),
 *     ],
 *   },
 *   config,
 * );
 * const receipt: ReceiptEntry[] = [];
 * const append = async (entry: ReceiptEntry) => void receipt.push(entry);
 * const place = { graph, config };
 * const { kind } = await applyRepair(place, await planRepair(place), { receipt: { append } });
 * console.log(kind, receipt.map((entry) => entry.kind)); // repaired [ 'intent', 'result' ]
 * ```
 */
export async function applyRepair(
  place: ThreadPlace,
  plan: RepairPlan,
  given: ApplyOptions,
): Promise<RepairOutcome> {
  checkGiven("plan", plan, planRule);
  checkSettings(given, APPLY_RULES, "options");
  const { receipt, now = () => new Date(), ...options } = given;
  checkGiven("receipt", receipt, receiptRule);
  const { store, ref } = storeThreadOf(place);
  // If the process dies in between, a second run finishes the work: a written thread needs no repair, and any other
  // gets the same plan.
  const { threadId, namespace, checkpointId } = plan;
  const base = { schemaVersion: 1, threadId, namespace } as const;
  if (plan.kind === "nothing") return { ...base, kind: "nothing" };
  if (plan.kind === "skip")
    return { ...base, kind: "skipped", reason: plan.reason, description: plan.description };
  const { before, after, steps, unplaced } = plan;
  const id = randomUUID();
  const stamp = () => ({ schemaVersion: 1, id, time: now().toISOString(), threadId }) as const;
  const afterHash = hashList(after);
  await receipt.append({
    ...stamp(),
    kind: "intent",
    target: store.target,
    namespace,
    checkpointId,
    steps,
    unplaced,
    before: before.map(toStoredJson),
    beforeHash: hashList(before),
    afterHash,
    afterLength: after.length,
  });
  const write = { expectedCheckpointId: checkpointId ?? undefined, messages: after };
  let { thread, ...result } = await writeList(store, ref, write, afterHash);
  const rest = thread && planFor(thread);
  if (rest?.kind === "write")
    result = failed(`The thread still needs a repair: ${rest.steps[0]?.description}`, thread);
  await receipt.append({ ...stamp(), kind: "result", ...result });
  if (result.outcome === "moved") return { ...base, kind: "moved" };
  if (result.outcome === "busy") return { ...base, ...BUSY };
  if (thread === undefined || result.error !== null)
    return { ...base, kind: "failed", error: result.error ?? "" };
  const report = reportOn(thread, options);
  return { ...base, kind: "repaired", checkpointId: result.checkpointId, steps, report };
}

const BUSY = {
  kind: "skipped",
  reason: "busy",
  description: "A run of the thread has begun. Nothing was written.",
} as const;

/** A write's outcome, as a receipt has it. */
type Written = Pick<ReceiptResult, "outcome" | "checkpointId" | "error">;

function failed(error: string, thread?: StoredThread): Written {
  return { outcome: "failed", checkpointId: thread?.checkpointId ?? null, error };
}

/**
 * Writes a list, reads the thread back and compares.
 *
 * @returns The thread only if it has the list.
 */
async function writeList(
  store: ThreadStore,
  ref: ThreadRef,
  write: ThreadWrite,
  hash: string,
): Promise<Written & { readonly thread?: StoredThread }> {
  let problem: string | undefined;
  try {
    const { kind } = await store.write(ref, write);
    if (kind !== "written") return { outcome: kind, checkpointId: null, error: null };
  } catch (error) {
    // A store's answer can be lost after it has written, so the thread itself decides.
    problem = errorText(error);
  }
  const thread = await store.read(ref).catch(errorText);
  if (typeof thread === "string") {
    const before = problem === undefined ? "" : `${problem} `;
    return failed(`${before}The thread cannot be read back: ${thread}`);
  }
  const { checkpointId = null, content } = thread;
  if (hashList(storedListOf(thread) ?? []) === hash)
    return { outcome: "written", checkpointId, error: null, thread };
  const reason =
    "reason" in content
      ? `The thread cannot be read after the write: ${content.reason}`
      : "The thread does not have the messages that were written.";
  return failed(problem ?? reason, thread);
}

/*
 * Takes repairs back, by their receipt.
 */

/** The options of `undo`. */
export interface UndoOptions {
  /**
   * Whether a thread that has moved on is also restored: the messages since the repair stay, after the restored ones. A
   * thread whose repaired messages have changed is refused anyway. @default false
   */
  readonly force?: boolean | undefined;
}

const entriesRule = {
  schema: z.array(z.unknown()),
  expects: "the entries of a receipt",
  hint: (value) =>
    typeof value === "string" ? " Did you mean `await readReceipt(path)`?" : hintAtPromise(value),
} satisfies Rule;

const entryRule = { schema: z.custom(isEntry), expects: "an entry of a receipt" } satisfies Rule;

/**
 * Gives each thread in a receipt its messages from before the repair, byte for byte. (On a server, an id that LangGraph
 * gave can come before other fields.) Nothing is deleted: the repair's checkpoints also stay. A thread that has moved
 * on is refused. Undo can be run again.
 *
 * The receipt must be of the same store. Undo writes no other channel.
 *
 * @param entries What `readReceipt` returned, or only some threads' entries.
 * @returns One outcome per repair, latest first.
 * @throws InvalidSettingError in the first step, for a wrong store, entry or option.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
 * import { applyRepair, createGraphStore, planRepair, type ReceiptEntry, undo } from "langgraph-tether/doctor";
 *
 * const graph = new StateGraph(MessagesAnnotation)
 *   .addNode("model", () => ({}))
 *   .addEdge("__start__", "model")
 *   .compile({ checkpointer: new MemorySaver() });
 * const place = { graph, config: { configurable: { thread_id: "1" } } };
 * await graph.invoke(
 *   {
 *     messages: [
 *       new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *       new HumanMessage({ id: "b", content: "Are you there?" }),
 *     ],
 *   },
 *   place.config,
 * );
 * const receipt: ReceiptEntry[] = [];
 * const append = async (entry: ReceiptEntry) => void receipt.push(entry);
 * await applyRepair(place, await planRepair(place), { receipt: { append } });
 * for await (const { threadId, kind } of undo(createGraphStore({ graph }), receipt)) {
 *   console.log(threadId, kind); // 1 restored
 * }
 * ```
 */
export async function* undo(
  store: ThreadStore,
  entries: readonly ReceiptEntry[],
  options: UndoOptions = {},
): AsyncGenerator<UndoOutcome> {
  checkGiven("store", store, storeRule);
  checkGiven("entries", entries, entriesRule);
  for (const [index, entry] of entries.entries()) checkGiven(`entries[${index}]`, entry, entryRule);
  checkSettings(options, { force: flag }, "options");
  // Where somebody else was faster, the repair has written nothing.
  const unwritten = new Set(
    entries.flatMap((entry) =>
      entry.kind === "result" && (entry.outcome === "moved" || entry.outcome === "busy") ? entry.id : [],
    ),
  );
  for (const intent of entries.toReversed()) {
    if (intent.kind !== "intent" || unwritten.has(intent.id)) continue;
    yield await undoOne(store, intent, options);
  }
}

async function undoOne(
  store: ThreadStore,
  intent: ReceiptIntent,
  { force }: UndoOptions,
): Promise<UndoOutcome> {
  const { threadId, namespace, before, beforeHash, afterHash, afterLength } = intent;
  const base = { schemaVersion: 1, threadId, namespace } as const;
  const ref = { threadId, namespace };
  try {
    if (hashList(before) !== beforeHash) return { ...base, kind: "failed", error: CHANGED };
    const thread = await store.read(ref);
    const skip = skipOf(thread);
    if (skip !== undefined) return { ...base, kind: "skipped", ...skip };
    const list = storedListOf(thread) ?? [];
    if (hashList(list) === beforeHash) return { ...base, kind: "unchanged" };
    // The messages since the repair. If the repaired ones are no longer at the beginning, the thread is refused.
    const isRepaired = hashList(list.slice(0, afterLength)) === afterHash;
    const since = isRepaired ? list.slice(afterLength) : undefined;
    if (since === undefined || (since.length > 0 && !force))
      return { ...base, kind: "moved", description: describeMove(since) };
    const messages = [...before, ...since];
    const write = { expectedCheckpointId: thread.checkpointId, messages };
    const { outcome, checkpointId, error } = await writeList(store, ref, write, hashList(messages));
    if (outcome === "moved") return { ...base, kind: "moved", description: describeMove(undefined) };
    if (outcome === "busy") return { ...base, ...BUSY };
    if (error !== null) return { ...base, kind: "failed", error };
    return { ...base, kind: "restored", checkpointId };
  } catch (error) {
    return { ...base, kind: "failed", error: errorText(error) };
  }
}

const CHANGED =
  "The messages in the receipt are not those that the repair has written down, so they were not restored.";

function describeMove(since: readonly unknown[] | undefined): string {
  if (since === undefined)
    return "The messages of the thread have changed since the repair, so it was not restored. They are in the receipt.";
  return `The thread has got ${amount(since.length, "message")} since the repair, so it was not restored. With \`force\`, they stay after the restored messages.`;
}
