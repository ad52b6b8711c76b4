/** What the commands print. */

import type { Finding, FindingCode, Severity, ThreadReport } from "../finding.js";
import type { RepairPlan } from "../plan.js";
import type { RepairOutcome } from "../thread-store.js";
import { quoted } from "./options.js";
import { amount, printableLine, wrapCommand, wrapText } from "./text.js";

/** How many threads and findings there are. */
interface Counts {
  readonly threads: number;
  readonly sound: number;
  readonly withFindings: number;
  readonly unreadable: number;
  /** Busy threads. They were not judged. */
  readonly skipped: number;
  /** Threads that wait for a human. They count as sound or with findings too. */
  readonly waiting: number;
  readonly subgraphs: number;
  readonly errors: number;
  readonly warnings: number;
  readonly infos: number;
}

/**
 * - `sound`: nothing at or above `--fail-on` was found.
 * - `findings`: there are such findings.
 * - `partly-read`: some threads could not be read, so the target is not known to be sound.
 */
type DoctorOutcome = "sound" | "findings" | "partly-read";

/** A finding as it is printed. With `--no-redact` it has the beginning of its message. */
type PrintedFinding = Finding & { readonly excerpt?: string };

/** A thread as it is printed. */
export interface PrintedThread extends Omit<ThreadReport, "findings" | "schemaVersion"> {
  readonly findings: readonly PrintedFinding[];
}

const NO_COUNTS: Counts = {
  threads: 0,
  sound: 0,
  withFindings: 0,
  unreadable: 0,
  skipped: 0,
  waiting: 0,
  subgraphs: 0,
  errors: 0,
  warnings: 0,
  infos: 0,
};

export const noCounts = (): Counts => NO_COUNTS;

/** The counts with one more thread. Subgraphs are part of their thread. */
export function countThread(counts: Counts, { namespace, outcome, status, findings }: ThreadReport): Counts {
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  const isThread = namespace === "";
  const plus = (is: boolean) => (is ? 1 : 0);
  return {
    threads: counts.threads + plus(isThread),
    sound: counts.sound + plus(isThread && outcome === "sound"),
    withFindings: counts.withFindings + plus(isThread && outcome === "findings"),
    unreadable: counts.unreadable + plus(outcome === "unreadable"),
    skipped: counts.skipped + plus(outcome === "skipped"),
    waiting: counts.waiting + plus(isThread && status === "interrupted"),
    subgraphs: counts.subgraphs + plus(!isThread),
    errors: counts.errors + of("error"),
    warnings: counts.warnings + of("warning"),
    infos: counts.infos + of("info"),
  };
}

export function outcomeOf(
  { errors, warnings, unreadable }: Counts,
  failOn: "error" | "warning" | "never",
  isComplete: boolean,
): DoctorOutcome {
  if (unreadable > 0 || !isComplete) return "partly-read";
  if (failOn === "never") return "sound";
  return errors + (failOn === "warning" ? warnings : 0) > 0 ? "findings" : "sound";
}

/*
 * The report of `doctor` as text for people.
 */

const MARKS = { error: "✗", warning: "!", info: "·" } as const;
const ORDER = ["error", "warning", "info"] as const;

/** A thread with its findings. */
export function threadText({ threadId, namespace, findings }: PrintedThread): string {
  const worst = ORDER.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "info";
  const name = printableLine(namespace === "" ? threadId : `${threadId} · ${namespace}`);
  const groups = groupByCode(findings).map((group) => groupText(group));
  return `${[`  ${MARKS[worst]} ${name}`, ...groups].join("\n")}\n`;
}

function groupText(group: readonly Finding[]): string {
  const [first] = group;
  if (first === undefined) return "";
  const lines = [wrapText(describeFindings(group), "      ")];
  const said = group.find(({ providerSays }) => providerSays !== null);
  if (said !== undefined) lines.push(wrapText(`${said.dialect}: ${said.providerSays}`, "        "));
  else if (/^(?:thread|size|content)\/|^state\/other-graph/.test(first.code))
    lines.push(wrapText(first.evidence, "        "));
  for (const finding of group)
    if ("excerpt" in finding)
      lines.push(wrapText(`${finding.messageId ?? finding.index}: ${finding.excerpt}`, "        "));
  return lines.join("\n");
}

interface Ending {
  readonly counts: Counts;
  /** Whether no thread was listed. */
  readonly isEmpty: boolean;
  /** How many findings were not listed, because of `--max-findings`. */
  readonly unlisted: number;
  readonly missing: readonly string[];
  readonly stopped: string | undefined;
  /** The command that mends the threads; undefined if there is nothing to mend. */
  readonly mend: string | undefined;
}

/** The last lines of the report. */
export function endingText({ counts, isEmpty, unlisted, missing, stopped, mend }: Ending): string {
  const { threads, waiting, skipped, unreadable, errors, warnings } = counts;
  const notes = [
    waiting > 0 &&
      `  · ${amount(waiting, "thread waits", "threads wait")} for a human. They are never changed.`,
    skipped > 0 && `  · ${amount(skipped, "thread is", "threads are")} busy and not judged.`,
    unreadable > 0 && `  · ${amount(unreadable, "thread", "threads")} could not be read.`,
    missing.length > 0 && wrapText(`Not found: ${missing.join(", ")}`, "  · ", "    "),
    unlisted > 0 && `  · ${amount(unlisted, "more finding is", "more findings are")} not listed.`,
    stopped !== undefined && wrapText(`Not everything was read. ${stopped}`, "  · ", "    "),
  ].filter((note) => note !== false);
  const bad = counts.withFindings;
  const verdict =
    bad > 0
      ? `${bad.toLocaleString("en-US")} of ${amount(threads, "thread")} ${bad === 1 ? "has" : "have"} findings (${amount(errors, "error")}, ${amount(warnings, "warning")}).`
      : unreadable > 0 || missing.length > 0 || stopped !== undefined
        ? `No findings in the threads that were read.`
        : `${amount(threads - skipped, "thread is", "threads are")} sound.`;
  const command = mend === undefined ? [] : ["", "  Show what a repair would do:", wrapCommand(mend, "    ")];
  return `${[...(isEmpty ? [] : [""]), ...notes, `  ${verdict}`, ...command].join("\n")}\n`;
}

/*
 * What the findings of one code are called, in the text for people.
 */

const WORDS: Readonly<Partial<Record<FindingCode, readonly [one: string, many: string]>>> = {
  "thread/bricked": ["bricked: every read of the thread throws", "bricked"],
  "thread/unreadable": ["cannot be read", "cannot be read"],
  "pairing/dangling-call": ["1 dangling call", "dangling calls"],
  "pairing/orphan-result": ["1 orphan result", "orphan results"],
  "pairing/misplaced-result": ["1 misplaced result", "misplaced results"],
  "pairing/duplicate-result": ["1 duplicate result", "duplicate results"],
  "pairing/reused-id": ["1 call with the id of an earlier one", "calls with ids of earlier ones"],
  "pairing/open-call": ["1 call left for the caller to answer", "calls left for the caller to answer"],
  "content/not-a-message": ["1 value that is not a message", "values that are not messages"],
  "content/shape": ["1 message with a wrong field", "messages with wrong fields"],
  "content/too-deep": ["1 value nested too deep", "values nested too deep"],
  "size/window": ["longer than the window of the model", "longer than the window of the model"],
  "size/quadratic": ["grows with the square of its length", "grows with the square of its length"],
  "state/pending-result": ["1 result can be recovered", "results can be recovered"],
  "state/waiting-for-approval": ["waits for a human, and is never changed", "waits for a human"],
  "state/busy": ["busy, so it was not judged", "busy"],
  "state/other-graph": ["belongs to another graph, so it is not repaired", "belongs to another graph"],
  "state/subgraph": ["the state of a subgraph, which is never changed", "subgraphs"],
};

/** Such as `2 dangling calls (weather, pay)`. */
function describeFindings(findings: readonly Finding[]): string {
  const [first] = findings;
  if (first === undefined) return "";
  const { code } = first;
  const [one, many] = WORDS[code] ?? [`1 message against ${code}`, `messages against ${code}`];
  const text = findings.length === 1 ? one : `${findings.length} ${many}`;
  const tools = [...new Set(findings.flatMap(({ tool }) => tool || []))];
  const isAboutCalls = code.startsWith("pairing/");
  return isAboutCalls && tools.length > 0
    ? `${text} (${tools.slice(0, 5).join(", ")}${tools.length > 5 ? ", …" : ""})`
    : text;
}

/** The findings of each code, in the order in which the codes first appear. */
function groupByCode(findings: readonly Finding[]): readonly (readonly Finding[])[] {
  const groups = new Map<FindingCode, Finding[]>();
  for (const finding of findings) groups.set(finding.code, [...(groups.get(finding.code) ?? []), finding]);
  return [...groups.values()];
}

/*
 * What `repair` planned and did, as counts, as JSON, and as text for people.
 */

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

/** A thread in JSON, with at most this many steps. It contains no messages. */
export function printedPlan(plan: RepairPlan, outcome: RepairOutcome | undefined, most: number): object {
  const { threadId, namespace, checkpointId } = plan;
  const steps = plan.kind === "write" ? plan.steps.slice(0, most) : [];
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

/** The text lists at most this many steps of a thread. */
const LISTED_STEPS = 20;

/** The plan of a thread, with at most this many steps, and what became of it. */
export function planText(plan: RepairPlan, outcome: RepairOutcome | undefined, most: number): string {
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
    const listed = plan.steps.slice(0, Math.min(most, LISTED_STEPS));
    for (const { kind, description } of listed)
      lines.push(wrapText(`${kind}: ${description}`, "      ", "        "));
    const others = plan.steps.length - listed.length;
    if (others > 0) lines.push(`      … and ${amount(others, "more step")}`);
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

interface RepairEnding {
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
