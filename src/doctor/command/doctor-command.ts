/** `doctor`: reads threads and says what is wrong with them. It never writes. */

import type { Command } from "commander";
import { amount, count, printableLine } from "../../shared/text.js";
import { addToList } from "../../shared/values.js";
import { diagnoseThread } from "../doctor.js";
import type { Finding, FindingCode, Fix, ThreadReport } from "../finding.js";
import { openTarget } from "../targets/targets.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import {
  type JudgeOptions,
  type OutputOptions,
  type SelectOptions,
  typedOptions,
  typedThreads,
} from "./options.js";
import { excerptOf, wrapCommand, wrapText } from "./text.js";
import { Listing, notesText, PRINTERS, type Reading, readThreads } from "./threads.js";

/** Whether `repair` does it. */
const isStored = ({ kind }: Fix): boolean => kind !== "at-request" && kind !== "wait";
/** A command names at most this many threads. */
const MOST_NAMED = 8;

export async function runDoctor(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<SelectOptions & JudgeOptions & OutputOptions>();
  const { concurrency, format, failOn, maxTokens, dialect, maxFindings, redact } = options;
  const store = await openTarget(options, { ...io, canWrite: false, concurrency });
  try {
    const printer = await PRINTERS[format]("doctor", { target: store.target }, io.output.write);
    const repair = ["npx langgraph-tether repair", ...typedOptions(command, "target", io)];
    const counts: Counts = { ...NO_COUNTS };
    const listing = new Listing(maxFindings);
    const broken: string[] = [];
    const reading = await readThreads(
      store,
      options,
      io,
      (_, thread) => ({ thread, report: diagnoseThread(thread, { maxTokens, dialect }) }),
      async ({ thread, report }) => {
        countThread(counts, report);
        const canRepair =
          report.status !== "interrupted" &&
          report.findings.every(({ code }) => code !== "state/other-graph");
        const isMended = ({ severity, fixes }: Finding): boolean =>
          canRepair && severity !== "info" && fixes.some(isStored);
        if (report.findings.some(isMended) && broken.length <= MOST_NAMED) broken.push(report.threadId);
        const listed = listing.take(report.findings);
        if (listed.length === 0) return;
        const mend = [...repair, ...typedThreads([report.threadId])].join(" ");
        const findings = listed.map((finding) => ({
          ...finding,
          fixes: finding.fixes.map((fix) => ({
            ...fix,
            command: canRepair && isStored(fix) ? mend : null,
          })),
          ...(redact === false && finding.index !== null && { excerpt: excerptOf(thread, finding.index) }),
        }));
        const { schemaVersion: _, ...fields } = report;
        await printer.thread({ ...fields, findings }, threadText({ ...report, findings }));
      },
    );
    const outcome = outcomeOf(counts, failOn, reading);
    const mend = [...repair, ...(broken.length > MOST_NAMED ? [] : typedThreads(broken))];
    await printer.end(
      { outcome, counts, unlistedFindings: listing.unlisted, ...reading },
      endText(counts, listing.unlisted, reading, broken.length === 0 ? [] : mend),
    );
    return { sound: EXIT.sound, findings: EXIT.findings, "partly-read": EXIT.partlyRead }[outcome];
  } finally {
    await store.close();
  }
}

const NO_COUNTS = {
  threads: 0,
  sound: 0,
  withFindings: 0,
  unreadable: 0,
  /** Busy threads. They were not judged. */
  skipped: 0,
  /** Threads that wait for a human. They count as sound or with findings too. */
  waiting: 0,
  subgraphs: 0,
  errors: 0,
  warnings: 0,
  infos: 0,
};

type Counts = typeof NO_COUNTS;

/** Subgraphs are part of their thread. */
function countThread(counts: Counts, { namespace, outcome, status, findings }: ThreadReport): void {
  if (namespace === "") {
    counts.threads += 1;
    if (outcome === "sound") counts.sound += 1;
    if (outcome === "findings") counts.withFindings += 1;
    if (status === "interrupted") counts.waiting += 1;
  } else counts.subgraphs += 1;
  if (outcome === "unreadable") counts.unreadable += 1;
  if (outcome === "skipped") counts.skipped += 1;
  for (const { severity } of findings) counts[`${severity}s`] += 1;
}

/** `partly-read`: some threads could not be read, so the target is not known to be sound. */
function outcomeOf(
  { errors, warnings, unreadable }: Counts,
  failOn: JudgeOptions["failOn"],
  { missing, stopped }: Reading,
): "sound" | "findings" | "partly-read" {
  if (unreadable > 0 || missing.length > 0 || stopped !== null) return "partly-read";
  const counted = { error: errors, warning: errors + warnings, never: 0 }[failOn];
  return counted > 0 ? "findings" : "sound";
}

/*
 * The report as text for people.
 */

const MARKS = { error: "✗", warning: "!", info: "·" } as const;
const ORDER = ["error", "warning", "info"] as const;

type PrintedFinding = Finding & { readonly excerpt?: string };

/** A thread with its findings. Empty for one that only waits, and for a subgraph without a fault, which are counted below. */
function threadText({
  threadId,
  namespace,
  findings,
}: Pick<ThreadReport, "threadId" | "namespace"> & { readonly findings: readonly PrintedFinding[] }): string {
  const isWorthALine = ({ severity, code }: Finding): boolean =>
    severity !== "info" || code === "pairing/open-call" || code === "state/pending-result";
  if (!findings.some(isWorthALine)) return "";
  const worst = ORDER.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "info";
  const name = printableLine(namespace === "" ? threadId : `${threadId} · ${namespace}`);
  const groups = new Map<FindingCode, PrintedFinding[]>();
  for (const finding of findings) addToList(groups, finding.code, finding);
  const lines = [...groups].flatMap(([code, group]) => groupLines(code, group));
  return `${[`  ${MARKS[worst]} ${name}`, ...lines].join("\n")}\n`;
}

function groupLines(code: FindingCode, group: readonly PrintedFinding[]): string[] {
  const said = group.find(({ providerSays }) => providerSays !== null);
  const isExplained = /^(?:thread|size|content)\/|^state\/other-graph/.test(code);
  const evidence = isExplained ? (group[0]?.evidence ?? "") : "";
  const why = said === undefined ? evidence : `${said.dialect}: ${said.providerSays}`;
  const excerpts = group.flatMap(({ excerpt, messageId, index }) =>
    excerpt === undefined ? [] : `${messageId ?? index}: ${excerpt}`,
  );
  return [
    wrapText(describeFindings(code, group), "      "),
    ...[why, ...excerpts].filter((line) => line !== "").map((line) => wrapText(line, "        ")),
  ];
}

/** Codes that are about calls and results are counted, such as `2 dangling calls (weather, pay)`. */
function describeFindings(code: FindingCode, findings: readonly Finding[]): string {
  const [kind = "", rule = ""] = code.split("/");
  const name = rule.replaceAll("-", " ");
  if (kind === "content" || kind === "order") return `${amount(findings.length, "message")} against ${code}`;
  if (kind !== "pairing" && code !== "state/pending-result") return name;
  const tools = [...new Set(findings.flatMap(({ tool }) => tool || []))];
  const named =
    tools.length === 0 ? "" : ` (${tools.slice(0, 5).join(", ")}${tools.length > 5 ? ", …" : ""})`;
  return `${amount(findings.length, name)}${named}`;
}

/** @param mend The command that mends the threads; empty if there is nothing to mend. */
function endText(counts: Counts, unlisted: number, reading: Reading, mend: readonly string[]): string {
  const { threads, withFindings, skipped, unreadable, errors, warnings } = counts;
  const isPart = unreadable > 0 || reading.missing.length > 0 || reading.stopped !== null;
  const found = `${count(withFindings)} of ${amount(threads, "thread")} ${withFindings === 1 ? "has" : "have"} findings`;
  const sound = isPart
    ? "No findings in the threads that were read."
    : `${amount(threads - skipped, "thread is", "threads are")} sound.`;
  const verdict =
    withFindings > 0 ? `${found} (${amount(errors, "error")}, ${amount(warnings, "warning")}).` : sound;
  const command = mend.length === 0 ? "" : `\n  Show what a repair would do:\n${wrapCommand(mend, "    ")}\n`;
  return `${notesText({ ...counts, unlisted }, reading)}  ${verdict}\n${command}`;
}
