/** What `repair` planned and did, as counts, as JSON, and as text for people. */

import type { RepairOutcome } from "../../outcomes.js";
import type { RepairPlan } from "../../repair-plan.js";
import { quoted } from "../line/target-of.js";
import { printableLine } from "./printable.js";
import { amount } from "./progress.js";
import { wrapCommand, wrapText } from "./wrap-text.js";

export interface RepairCounts {
  readonly threads: number;
  /** Threads that need a write and did not get it: the plan was only printed. */
  readonly planned: number;
  readonly repaired: number;
  /** Threads that need no repair. */
  readonly nothing: number;
  /** Busy threads. They were not changed. */
  readonly skipped: number;
  /** Threads that wait for a human. They are never changed. */
  readonly waiting: number;
  readonly unreadable: number;
  readonly subgraphs: number;
  /** Threads that need a repair and belong to another graph. They were not changed. */
  readonly otherGraph: number;
  /** Threads that others wrote to again and again. They were not changed. */
  readonly moved: number;
  readonly failed: number;
}

const NO_REPAIRS: RepairCounts = {
  threads: 0,
  planned: 0,
  repaired: 0,
  nothing: 0,
  skipped: 0,
  waiting: 0,
  unreadable: 0,
  subgraphs: 0,
  otherGraph: 0,
  moved: 0,
  failed: 0,
};

export const noRepairs = (): RepairCounts => NO_REPAIRS;

const SKIPPED = {
  busy: "skipped",
  waiting: "waiting",
  unreadable: "unreadable",
  subgraph: "subgraphs",
  "other-graph": "otherGraph",
} as const;

export function countRepair(
  counts: RepairCounts,
  plan: RepairPlan,
  outcome: RepairOutcome | undefined,
): RepairCounts {
  const kind = kindOf(plan, outcome);
  const threads = counts.threads + (plan.namespace === "" ? 1 : 0);
  return { ...counts, threads, [kind]: counts[kind] + 1 };
}

function kindOf(
  plan: RepairPlan,
  outcome: RepairOutcome | undefined,
): Exclude<keyof RepairCounts, "threads"> {
  if (outcome === undefined) {
    if (plan.kind === "skip") return SKIPPED[plan.reason];
    return plan.kind === "write" ? "planned" : "nothing";
  }
  return outcome.kind === "skipped" ? SKIPPED[outcome.reason] : outcome.kind;
}

/** Whether something is left to repair, so that the command is to be run again. */
export function isLeft(
  { planned, skipped, unreadable, otherGraph, moved, failed }: RepairCounts,
  isApplied: boolean,
): boolean {
  return planned + unreadable + otherGraph + moved + failed > 0 || (isApplied && skipped > 0);
}

/** A thread in JSON. It contains no messages. */
export function printedPlan(plan: RepairPlan, outcome: RepairOutcome | undefined): object {
  const { threadId, namespace, checkpointId } = plan;
  const steps = plan.kind === "write" ? plan.steps : [];
  const unplaced = plan.kind === "write" ? plan.unplaced.map(({ message: _, ...rest }) => rest) : [];
  const reason = plan.kind === "skip" ? plan.reason : outcome?.kind === "skipped" ? outcome.reason : null;
  const error = outcome?.kind === "failed" ? outcome.error : null;
  const after = outcome?.kind === "repaired" ? outcome.checkpointId : null;
  return {
    threadId,
    namespace,
    checkpointId,
    outcome: kindOf(plan, outcome),
    reason,
    error,
    newCheckpointId: after,
    steps,
    unplaced,
  };
}

/** The plan of a thread, and what became of it. */
export function planText(plan: RepairPlan, outcome: RepairOutcome | undefined): string {
  const { threadId } = plan;
  if (plan.kind === "skip" && (plan.reason === "waiting" || plan.reason === "subgraph")) return "";
  const mark = {
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
  }[kindOf(plan, outcome)];
  const lines = [`  ${mark} ${printableLine(threadId)}`];
  if (plan.kind === "skip") lines.push(wrapText(plan.description, "      "));
  if (plan.kind === "write") {
    for (const { kind, description } of plan.steps)
      lines.push(wrapText(`${kind}: ${description}`, "      ", "        "));
    for (const { callId, reason } of plan.unplaced.slice(0, 5))
      lines.push(
        wrapText(
          `kept in the receipt only: ${callId === null ? "a value" : `the result of ${callId}`}. ${reason}`,
          "      ",
          "        ",
        ),
      );
  }
  if (outcome?.kind === "failed") lines.push(wrapText(`failed: ${outcome.error}`, "      ", "        "));
  if (outcome?.kind === "skipped") lines.push(wrapText(outcome.description, "      "));
  if (outcome?.kind === "moved")
    lines.push(wrapText("Somebody else wrote to the thread, so it was not changed.", "      "));
  return `${lines.join("\n")}\n`;
}

export interface RepairEnding {
  readonly counts: RepairCounts;
  readonly missing: readonly string[];
  readonly stopped: string | undefined;
  readonly receipt: string | undefined;
  /** The options of the target, and those that select threads. */
  readonly target: string;
  readonly selection: string;
  /** Whether no thread was listed. */
  readonly isEmpty: boolean;
  readonly isApplied: boolean;
  readonly canApply: boolean;
}

export function repairEnding(ending: RepairEnding): string {
  const { counts, missing, stopped, receipt, target, selection, isEmpty, isApplied, canApply } = ending;
  const { planned, repaired, nothing, skipped, waiting, unreadable, otherGraph, moved, failed } = counts;
  const repair = ["npx langgraph-tether repair", target, selection, "--apply"]
    .filter((part) => part !== "")
    .join(" ");
  const notes = [
    waiting > 0 &&
      `  · ${amount(waiting, "thread waits", "threads wait")} for a human. They are never changed.`,
    skipped > 0 &&
      `  · ${amount(skipped, "thread is", "threads are")} busy. Repair them when their runs have ended.`,
    unreadable > 0 && `  · ${amount(unreadable, "thread", "threads")} could not be read.`,
    otherGraph > 0 &&
      `  · ${amount(otherGraph, "thread belongs", "threads belong")} to another graph, and ${otherGraph === 1 ? "was" : "were"} not changed.`,
    moved > 0 &&
      `  · ${amount(moved, "thread was", "threads were")} written by others meanwhile. Run the command again.`,
    failed > 0 && `  · ${amount(failed, "repair")} failed.`,
    missing.length > 0 && wrapText(`Not found: ${missing.join(", ")}`, "  · ", "    "),
    stopped !== undefined &&
      wrapText(`Not everything was read. ${stopped} Run the command again.`, "  · ", "    "),
  ].filter((note) => note !== false);
  const sound = `${amount(nothing, "thread needs", "threads need")} no repair.`;
  const verdict = isApplied
    ? [`  ${amount(repaired, "thread was", "threads were")} repaired. ${sound}`]
    : [`  ${amount(planned, "thread", "threads")} would be repaired. ${sound} Nothing was written.`];
  if (!isApplied && planned > 0 && canApply)
    verdict.push("", "  Write the repairs:", wrapCommand(repair, "    "));
  if (receipt !== undefined)
    verdict.push(
      "",
      "  Take the repairs back:",
      wrapCommand(`npx langgraph-tether undo ${quoted(receipt)} ${target}`, "    "),
    );
  return `${[...(isEmpty ? [] : [""]), ...notes, ...verdict].join("\n")}\n`;
}
