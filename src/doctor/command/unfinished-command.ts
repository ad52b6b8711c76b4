/** `unfinished`: lists the threads that their last run left unfinished. It never writes. */

import type { Command } from "commander";
import { amount, count, printableLine, spanText } from "../../shared/text.js";
import { withTarget } from "../targets/targets.js";
import { askedTools, type UnfinishedThread, unfinishedIn } from "../unfinished.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { lacksGraph, type Options, quietMsOf } from "./options.js";
import { isComplete, notesText, noteText, readThreads, startReport } from "./report.js";
import { entryText, wrapText } from "./text.js";

export async function runUnfinished(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<Options>();
  return withTarget(options, { ...io, canWrite: false, quietMs: quietMsOf(options) }, async (store) => {
    const now = io.now();
    const printer = await startReport("unfinished", { target: store.target }, options, io);
    const counts = { ...NO_COUNTS };
    const reading = await readThreads(
      store,
      { ...options, isUnfinished: true },
      io,
      (_, thread) => ({ found: unfinishedIn(thread, store) }),
      async ({ found }) => {
        if (found === undefined) return;
        counts[KINDS[found.kind].count] += 1;
        // They can have texts of messages.
        const { interrupts, error: _, ...fields } = found;
        const questions = { count: interrupts.length, tools: askedTools(found) };
        await printer.thread({ ...fields, questions }, threadText(found, now));
      },
    );
    const { unreadable, ...unfinished } = counts;
    const all = Object.values(unfinished).reduce((sum, each) => sum + each, 0);
    const isPart = unreadable > 0 || !isComplete(reading);
    const outcome = isPart ? "partly-read" : all > 0 ? "unfinished" : "finished";
    const withoutGraph = lacksGraph(command, io);
    const verdict =
      all === 0 ? "No thread is unfinished." : `${amount(all, "thread is", "threads are")} unfinished`;
    const kinds = Object.values(KINDS).flatMap(({ count: name, words }) =>
      name === "unreadable" || counts[name] === 0 ? [] : `${count(counts[name])} ${words}`,
    );
    await printer.end(
      { outcome, counts, withoutGraph, ...reading },
      (withoutGraph ? WITHOUT_GRAPH : "") +
        notesText({ unreadable }, reading) +
        `${wrapText(all === 0 ? verdict : `${verdict}: ${kinds.join(", ")}.`, "  ")}\n`,
    );
    return isPart ? EXIT.partlyRead : all > 0 ? EXIT.findings : EXIT.sound;
  });
}

const WITHOUT_GRAPH = noteText(
  "No graph is named, so it is not known where its nodes stop for a human. Name it: --graph ./src/agent.ts:graph",
);

/** For each kind of thread, the name of its count, its mark and its words. */
const KINDS = {
  waiting: { count: "waiting", mark: "·", words: "waiting for a human" },
  "going-on": { count: "goingOn", mark: "·", words: "may be going on" },
  cancelled: { count: "cancelled", mark: "!", words: "cancelled" },
  failed: { count: "failed", mark: "✗", words: "failed" },
  stopped: { count: "stopped", mark: "!", words: "stopped early" },
  unreadable: { count: "unreadable", mark: "✗", words: "cannot be read" },
} as const satisfies Record<UnfinishedThread["kind"], object>;

const NO_COUNTS = { waiting: 0, goingOn: 0, cancelled: 0, failed: 0, stopped: 0, unreadable: 0 };

const OUTCOMES = {
  returned: "its result is saved",
  "not-started": "did not start, runs",
  unknown: "outcome unknown, is not run again",
  asked: "a human is asked",
} as const;

function threadText(thread: UnfinishedThread, now: number): string {
  const { threadId, kind, evidence, nodes, calls, updatedAt, otherGraph } = thread;
  const { mark, words } = KINDS[kind];
  const age = updatedAt === null ? "" : ` · ${spanText(now - Date.parse(updatedAt))} ago`;
  const tools = askedTools(thread);
  const asks = tools.length === 0 ? "" : ` (${tools.join(", ")})`;
  const lines = [
    otherGraph ?? evidence,
    nodes.length === 0 ? "" : `A next run continues at ${nodes.join(", ")}.`,
    ...calls.map(({ tool, callId, outcome }) => `${tool} (${callId}): ${OUTCOMES[outcome]}`),
  ];
  const shown = lines.filter((line) => line !== "").map((line) => wrapText(printableLine(line), "      "));
  return entryText(mark, `${threadId} · ${words}${asks}${age}`, shown);
}
