/** Carries out the plan of one thread. */

import { randomUUID } from "node:crypto";
import { errorText } from "../error-text.js";
import type { RepairOutcome } from "../outcomes.js";
import type { StoreThread } from "../place.js";
import type { ReceiptResult, ReceiptWriter } from "../receipt/receipt.js";
import type { RepairPlan } from "../repair-plan.js";
import { type DiagnoseOptions, reportOn } from "../report/report-on.js";
import { planFor } from "./plan-repair.js";
import { hashList, toStoredJson } from "./stored-json.js";

/** The options of `applyRepair`. */
export interface ApplyOptions extends DiagnoseOptions {
  /** Gets every message of the thread before the first write. `undo` needs it. */
  readonly receipt: ReceiptWriter;
  /** The node in whose name the state is written. @default the one that ran last */
  readonly asNode?: string | undefined;
  /** Contract: the time for the receipt. @default the clock */
  readonly now?: (() => Date) | undefined;
}

/**
 * In this order: the receipt is on the disk, the latest checkpoint is compared, the thread is written in one step, read
 * back and checked. If the process dies in between, a second run finishes the work: a thread that was written needs no
 * repair, and another one gets the same plan.
 */
export async function applyPlan(
  { store, ref }: StoreThread,
  plan: RepairPlan,
  { receipt, asNode, now = () => new Date(), ...options }: ApplyOptions,
): Promise<RepairOutcome> {
  const base = { schemaVersion: 1, threadId: plan.threadId, namespace: plan.namespace } as const;
  if (plan.kind === "nothing") return { ...base, kind: "nothing" };
  if (plan.kind === "skip")
    return { ...base, kind: "skipped", reason: plan.reason, description: plan.description };
  const { before, after, steps, unplaced, checkpointId } = plan;
  const id = randomUUID();
  const afterHash = hashList(after);
  await receipt.append({
    schemaVersion: 1,
    kind: "intent",
    id,
    time: now().toISOString(),
    target: store.target,
    threadId: plan.threadId,
    namespace: plan.namespace,
    checkpointId,
    steps,
    unplaced,
    before: before.map(toStoredJson),
    beforeHash: hashList(before),
    afterHash,
    afterLength: after.length,
  });
  const settle = async (result: Pick<ReceiptResult, "outcome" | "checkpointId" | "error">): Promise<void> =>
    receipt.append({
      schemaVersion: 1,
      kind: "result",
      id,
      time: now().toISOString(),
      threadId: plan.threadId,
      ...result,
    });
  const fail = async (error: string, at: string | null): Promise<RepairOutcome> => {
    await settle({ outcome: "failed", checkpointId: at, error });
    return { ...base, kind: "failed", error };
  };

  let problem: string | undefined;
  try {
    const outcome = await store.write(ref, {
      expectedCheckpointId: checkpointId ?? undefined,
      messages: after,
      asNode,
    });
    if (outcome.kind !== "written") {
      await settle({ outcome: outcome.kind, checkpointId: null, error: null });
      if (outcome.kind === "moved") return { ...base, kind: "moved" };
      const description = "A run of the thread has begun. Nothing was written.";
      return { ...base, kind: "skipped", reason: "busy", description };
    }
  } catch (error) {
    // The answer of a store can be lost after it has written, so the thread itself decides.
    problem = errorText(error);
  }
  let thread: Awaited<ReturnType<typeof store.read>>;
  try {
    thread = await store.read(ref);
  } catch (error) {
    return fail(
      `${problem === undefined ? "" : `${problem} `}The thread cannot be read back: ${errorText(error)}`,
      null,
    );
  }
  const written = thread.checkpointId ?? null;
  if (thread.content.kind !== "read") {
    const reason = "reason" in thread.content ? thread.content.reason : "it has no messages";
    return fail(problem ?? `The thread cannot be read after the write: ${reason}`, written);
  }
  if (hashList(thread.content.messages) !== afterHash)
    return fail(problem ?? "The thread does not have the messages that were written.", written);
  const rest = planFor(thread, { harvest: false });
  if (rest.kind === "write")
    return fail(problem ?? `The thread still needs a repair: ${rest.steps[0]?.description}`, written);
  await settle({ outcome: "written", checkpointId: written, error: null });
  return { ...base, kind: "repaired", checkpointId: written, steps, report: reportOn(thread, options) };
}
