/** `size`: says how much each thread stores, and what would save how much. */

import { type SizeReport, sizeOf } from "../size.js";
import { openTarget } from "../targets/open-target.js";
import { UsageError } from "../targets/target.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { concurrencyOf, readThreads } from "./doctor-command.js";
import { type GivenOptions, selectionOf, targetOf } from "./options.js";
import { amount, printableLine } from "./text.js";

/** How many threads the text lists: the largest. */
const LISTED = 20;
const SUMMED = [
  "checkpoints",
  "totalBytes",
  "messagesBytes",
  "savedByDelta",
  "savedByArchive",
  "nextTurnBytes",
] as const;

export async function runSize(options: GivenOptions, io: CommandIo): Promise<ExitCode> {
  const { format = "text" } = options;
  const concurrency = concurrencyOf(options);
  const selection = selectionOf(options, io.now());
  const store = await openTarget(targetOf(options, io, "size"), { ...io, canWrite: false, concurrency });
  try {
    const { measure } = store;
    if (measure === undefined)
      throw new UsageError(
        `${store.target} does not tell what it stores. size needs --postgres or --sqlite.`,
      );
    const { output } = io;
    const head = { schemaVersion: 1, target: store.target } as const;
    if (format === "ndjson") await output.write(`${JSON.stringify({ type: "start", ...head })}\n`);
    const total: Record<(typeof SUMMED)[number], number> & { threads: number; unmeasured: number } = {
      threads: 0,
      unmeasured: 0,
      checkpoints: 0,
      totalBytes: 0,
      messagesBytes: 0,
      savedByDelta: 0,
      savedByArchive: 0,
      nextTurnBytes: 0,
    };
    let kept: SizeReport[] = [];
    const reading = { selection, concurrency, quiet: options.quiet === true };
    const { missing, stopped } = await readThreads(
      store,
      reading,
      io,
      async (ref, thread) => {
        // What a subgraph stores is counted with its thread.
        if (ref.namespace !== "") return "subgraph" as const;
        return sizeOf({ ...thread, sizes: await measure(ref).catch(() => undefined) });
      },
      async (report) => {
        if (report === "subgraph") return;
        total.threads += 1;
        if (report === undefined) {
          total.unmeasured += 1;
          return;
        }
        for (const name of SUMMED) total[name] += report[name];
        if (format === "ndjson") await output.write(`${JSON.stringify({ type: "thread", ...report })}\n`);
        else if (format === "json") kept.push(report);
        else kept = largest([...kept, report]);
      },
    );
    const isComplete = missing.length === 0 && stopped === undefined && total.unmeasured === 0;
    const rest = {
      outcome: isComplete ? "measured" : "partly-read",
      total,
      missing,
      stopped: stopped ?? null,
    };
    if (format === "ndjson")
      await output.write(`${JSON.stringify({ type: "summary", schemaVersion: 1, ...rest })}\n`);
    else if (format === "json")
      await output.write(`${JSON.stringify({ ...head, ...rest, threads: kept }, undefined, 2)}\n`);
    else await output.write(sizeText(store.target, kept, total, stopped));
    return isComplete ? EXIT.sound : EXIT.partlyRead;
  } finally {
    await store.close();
  }
}

/** Threads of one size stay in the order in which they were read. */
function largest(reports: readonly SizeReport[]): SizeReport[] {
  return reports.toSorted((one, other) => other.totalBytes - one.totalBytes).slice(0, LISTED);
}

function sizeText(
  target: string,
  threads: readonly SizeReport[],
  total: Record<(typeof SUMMED)[number], number> & { readonly threads: number; readonly unmeasured: number },
  stopped: string | undefined,
): string {
  const rows = threads.flatMap(
    ({
      threadId,
      messages,
      checkpoints,
      totalBytes,
      latestMessagesBytes,
      nextTurnBytes,
      savedByDelta,
      savedByArchive,
    }) => [
      `  ${printableLine(threadId)}`,
      `      ${bytes(totalBytes)} in ${amount(checkpoints, "checkpoint")}; the list: ${amount(messages, "message")}, ${bytes(latestMessagesBytes)}`,
      `      the next turn adds about ${bytes(nextTurnBytes)}`,
      ...(savedByDelta > 0 ? [`      a delta channel would have saved about ${bytes(savedByDelta)}`] : []),
      ...(savedByArchive > 0
        ? [`      an archive would save about ${bytes(savedByArchive)} of each checkpoint`]
        : []),
    ],
  );
  const shown =
    total.threads - total.unmeasured > threads.length
      ? [`  The ${threads.length} largest of them are listed.`]
      : [];
  return `${[
    `tether size · ${target}`,
    "",
    ...rows,
    ...(rows.length > 0 ? [""] : []),
    `  ${amount(total.threads, "thread")}: ${bytes(total.totalBytes)}, of which ${bytes(total.messagesBytes)} are messages.`,
    `  A delta channel would have saved about ${bytes(total.savedByDelta)}.`,
    ...shown,
    ...(total.unmeasured > 0 ? [`  ${amount(total.unmeasured, "thread")} could not be measured.`] : []),
    ...(stopped === undefined ? [] : [`  Not everything was read. ${stopped}`]),
  ].join("\n")}\n`;
}

/** Bytes with a unit: `1.2 MB`. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = count < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
