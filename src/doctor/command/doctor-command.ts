/** `doctor`: reads threads and says what is wrong with them. It never writes. */

import type { Command } from "commander";
import { amount, count, listStart } from "../../shared/text.js";
import { addToList } from "../../shared/values.js";
import { diagnoseThread } from "../doctor.js";
import type { Finding, FindingCode, Fix, ThreadReport } from "../finding.js";
import { worstOutcome } from "../findings.js";
import { obstacleIn, skipOf } from "../plan.js";
import { withTarget } from "../targets/targets.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { lacksGraph, type Options, quietMsOf, typedRepair, typedThreads } from "./options.js";
import { isComplete, notesText, noteText, readThreads, startReport } from "./report.js";
import { entryText, excerptsOf, nextCommand, wrapText } from "./text.js";

/** Whether `repair` does it. */
const isStored = ({ kind }: Fix): boolean => kind !== "at-request" && kind !== "wait";
/** A command names at most this many threads. */
const MOST_NAMED = 8;

export async function runDoctor(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<Options>();
  const { failOn, maxTokens, dialect, redact } = options;
  return withTarget(options, { ...io, canWrite: false, quietMs: quietMsOf(options) }, async (store) => {
    const printer = await startReport("doctor", { target: store.target }, options, io);
    const repair = typedRepair(command, io);
    const withoutGraph = lacksGraph(command, io);
    const counts = { ...NO_COUNTS };
    const broken: string[] = [];
    let longest = 0;
    /** A thread's and its subgraphs' worst. */
    const outcomes = new Map<string, ThreadReport["outcome"]>();
    const threadText = threadPrinter();
    const threadsWith = new Map<FindingCode, number>();
    const reading = await readThreads(
      store,
      options,
      io,
      (_, thread) => ({ thread, report: diagnoseThread(thread, { maxTokens, dialect }) }),
      async ({ thread, report }) => {
        countThread(counts, report);
        longest = Math.max(longest, report.tokens ?? 0);
        outcomes.set(report.threadId, worstOutcome(report.outcome, outcomes.get(report.threadId) ?? "sound"));
        const { schemaVersion: _, threadId, ...fields } = report;
        const canRepair = (skipOf(thread) ?? obstacleIn(thread)) === undefined;
        const ofThread = canRepair ? [...repair, ...typedThreads([threadId])].join(" ") : null;
        const excerptOf = excerptsOf(thread);
        const findings = report.findings.map((finding) => ({
          ...finding,
          fixes: finding.fixes.map((fix) => ({ ...fix, command: isStored(fix) ? ofThread : null })),
          ...(redact === false && finding.index !== null && { excerpt: excerptOf(finding.index) }),
        }));
        const isBroken = findings.some(
          ({ severity, fixes }) => severity !== "info" && fixes.some(({ command }) => command !== null),
        );
        for (const code of new Set(findings.filter(isWorthALine).map(({ code }) => code)))
          threadsWith.set(code, (threadsWith.get(code) ?? 0) + 1);
        if (isBroken && broken.length <= MOST_NAMED) broken.push(threadId);
        if (findings.length > 0)
          await printer.thread({ threadId, ...fields, findings }, threadText(report, findings));
      },
    );
    for (const outcome of outcomes.values()) {
      if (outcome === "sound") counts.sound += 1;
      if (outcome === "findings") counts.withFindings += 1;
    }
    const isPart = counts.unreadable > 0 || !isComplete(reading);
    const { errors, warnings, uncertain } = counts;
    const failing = {
      error: errors,
      unknown: errors + uncertain,
      warning: errors + warnings,
      never: 0,
    }[failOn];
    const unknown = counts.skipped + counts.notJudged;
    const isUnknown = unknown > 0 && (failOn === "unknown" || failOn === "warning");
    // If some threads could not be read, the target is not known to be sound.
    const outcome = isPart
      ? "partly-read"
      : failing > 0
        ? "findings"
        : unknown > 0
          ? "partly-judged"
          : "sound";
    const ofBroken = [...repair, ...(broken.length > MOST_NAMED ? [] : typedThreads(broken))];
    await printer.end(
      { outcome, counts, withoutGraph, unseen: store.unseen ?? null, ...reading },
      (withoutGraph ? WITHOUT_GRAPH : "") +
        (store.unseen === undefined ? "" : noteText(store.unseen)) +
        (maxTokens === undefined && longest > LEAST_TOLD ? windowText(longest) : "") +
        notesText(counts, reading) +
        verdictText(counts, isPart || unknown > 0) +
        codesText(threadsWith) +
        (broken.length === 0 ? "" : nextCommand("Show what a repair would do:", ofBroken)),
    );
    if (outcome === "findings") return EXIT.findings;
    return isPart || isUnknown ? EXIT.partlyRead : EXIT.sound;
  });
}

const WITHOUT_GRAPH = noteText(
  "No graph is named, so it is not known whether it can read its threads, and whether it repairs them itself. Name it: --graph ./src/agent.ts:graph",
);

/** The windows of most models are larger. */
const LEAST_TOLD = 100_000;

const windowText = (tokens: number): string =>
  noteText(
    `The longest thread has about ${count(tokens)} tokens. Whether it fits was not judged, because the window of its model is not known. Name it: --max-tokens 128000`,
  );

const NO_COUNTS = {
  threads: 0,
  sound: 0,
  withFindings: 0,
  unreadable: 0,
  /** Threads whose run is going on, or may be. They were not judged. */
  skipped: 0,
  /** Other threads that were not judged. */
  notJudged: 0,
  /** Threads that wait for a human. They count as sound or with findings too. */
  waiting: 0,
  subgraphs: 0,
  errors: 0,
  warnings: 0,
  /** The warnings about calls and results: nobody knows whether a model is sent them. */
  uncertain: 0,
  infos: 0,
};

type Counts = typeof NO_COUNTS;

/** Subgraphs are part of their thread. */
function countThread(counts: Counts, { namespace, outcome, status, findings }: ThreadReport): void {
  if (namespace === "") {
    counts.threads += 1;
    if (status === "interrupted") counts.waiting += 1;
  } else counts.subgraphs += 1;
  if (outcome === "unreadable") counts.unreadable += 1;
  if (outcome === "skipped") counts[status === "busy" ? "skipped" : "notJudged"] += 1;
  for (const { severity, code } of findings) {
    counts[`${severity}s`] += 1;
    if (severity === "warning" && code.startsWith("pairing/")) counts.uncertain += 1;
  }
}

/*
 * The report as text for people.
 */

const MARKS = { error: "✗", warning: "!", info: "·" } as const;
const ORDER = ["error", "warning", "info"] as const;

const SHOWN_INFO: ReadonlySet<FindingCode> = new Set<FindingCode>([
  "pairing/open-call",
  "state/pending-result",
  "state/busy",
  "state/other-messages",
  "state/other-channel",
  "state/no-messages",
]);

type PrintedFinding = Finding & { readonly excerpt?: string };

const isWorthALine = ({ severity, code }: Finding): boolean => severity !== "info" || SHOWN_INFO.has(code);

/**
 * Makes the text of one thread after another. It is empty for a thread that only waits and for a faultless subgraph,
 * which are counted below. What was said of one thread is not repeated.
 */
function threadPrinter() {
  const told = new Set<string>();
  const isNew = (key: string): boolean => {
    const before = told.size;
    return told.add(key).size > before;
  };
  return ({ threadId, namespace }: ThreadReport, findings: readonly PrintedFinding[]): string => {
    if (!findings.some(isWorthALine)) return "";
    const worst = ORDER.find((severity) => findings.some((found) => found.severity === severity)) ?? "info";
    const name = namespace === "" ? threadId : `${threadId} · ${namespace}`;
    const groups = new Map<FindingCode, PrintedFinding[]>();
    for (const finding of findings) addToList(groups, finding.code, finding);
    const lines = [...groups].flatMap(([code, group]) => groupLines(code, group, isNew));
    return entryText(MARKS[worst], name, lines);
  };
}

function groupLines(
  code: FindingCode,
  group: readonly PrintedFinding[],
  isNew: (key: string) => boolean,
): string[] {
  const said = group.find(({ providerSays }) => providerSays !== null);
  const isExplained = /^(?:thread|size|content)\/|^state\/(?:other-|busy|no-)/.test(code);
  const evidence = isExplained ? (group[0]?.evidence ?? "") : "";
  const text = said === undefined ? evidence : `${said.dialect}: ${said.providerSays}`;
  // A provider's words for one fault differ only in the ids.
  const why = isNew(said === undefined ? text : `${code} ${said.dialect}`) ? text : "";
  const excerpts = group.flatMap(({ excerpt, messageId, index }) =>
    excerpt === undefined ? [] : `${messageId ?? index}: ${excerpt}`,
  );
  return [
    wrapText(describeFindings(code, group), "      "),
    ...[why, ...new Set(excerpts)].filter((line) => line !== "").map((line) => wrapText(line, "        ")),
  ];
}

/** Codes that are about calls and results are counted, such as `2 dangling calls (weather, pay)`. */
function describeFindings(code: FindingCode, findings: readonly Finding[]): string {
  const [kind = "", rule = ""] = code.split("/");
  const name = rule.replaceAll("-", " ");
  if (kind === "content" || kind === "order") return `${amount(findings.length, "message")} against ${code}`;
  if (kind !== "pairing" && code !== "state/pending-result") return name;
  const tools = [...new Set(findings.flatMap(({ tool }) => tool || []))];
  const named = tools.length === 0 ? "" : ` (${listStart(tools, 5)})`;
  return `${amount(findings.length, name)}${named}`;
}

/** How many threads have each finding. Empty for a single thread, which shows them. */
function codesText(threadsWith: ReadonlyMap<FindingCode, number>): string {
  if (![...threadsWith.values()].some((threads) => threads > 1)) return "";
  const rows = [...threadsWith].sort(([, one], [, other]) => other - one);
  return rows.map(([code, threads]) => `    ${amount(threads, "thread")}: ${code}\n`).join("");
}

function verdictText({ threads, sound, withFindings, errors, warnings }: Counts, isPart: boolean): string {
  if (withFindings > 0)
    return `  ${count(withFindings)} of ${amount(threads, "thread")} ${withFindings === 1 ? "has" : "have"} findings (${amount(errors, "error")}, ${amount(warnings, "warning")}).\n`;
  return isPart
    ? `  No findings in ${sound === 0 ? "what was read, and no thread was judged" : `the ${amount(sound, "thread that was", "threads that were")} judged`}.\n`
    : `  ${amount(sound, "thread is", "threads are")} sound.\n`;
}
