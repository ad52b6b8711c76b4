/** The report of `doctor` as text for people. */

import type { Finding } from "../../finding.js";
import type { Counts, PrintedThread } from "./doctor-report.js";
import { describeFindings, groupByCode } from "./finding-words.js";
import { printableLine } from "./printable.js";
import { amount } from "./progress.js";
import { wrapCommand, wrapText } from "./wrap-text.js";

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

export interface Ending {
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
