import type { Entry, Noted } from "./job.js";

export const NO_CRASHES = {
  kills: 0,
  /** The longest series of processes of one thread that were killed one after another. */
  mostInARow: 0,
  finishedRuns: 0,
  finishedTools: 0,
  /** Results that LangGraph had not saved when the process was killed. They are lost, and it is not our loss. */
  unsavedResults: 0,
  /** Those of them that LangGraph had saved without the message that has their calls. */
  resultsWithoutCall: 0,
  /** Results that were saved only beside a checkpoint, because their run was killed before the next checkpoint. */
  resultsBesideCheckpoint: 0,
  /** Messages that were saved or shown, and are lost. They are among the faults. */
  lost: 0,
  /** Tools that ran again although their result was saved. They are among the faults. */
  runTwice: 0,
};

export type Crashes = Readonly<typeof NO_CRASHES> & {
  /** What must never be. Empty if all is well. */
  readonly faults: readonly string[];
};

/** Errors that a run may end with: there is nothing to go on with. */
const ALLOWED_ERRORS = ["InvalidMessageError"];

/** Checks what the processes of one thread wrote into its ledger. */
export function checkLedger(entries: readonly Entry[]): Crashes {
  const faults: string[] = [];
  const checkpoints = new Set(
    entries.flatMap((entry) => (entry.kind === "put-end" ? entry.checkpointId : [])),
  );
  /** What a reader of the thread must find from now on. */
  const kept = new Map<string, number>();
  const written = new Set<string>();
  const called = new Set<string>();
  /**
   * Results whose calls were not saved yet. With the durability `exit` and a delta channel, LangGraph saves the messages of
   * a turn with parallel writes, in any order.
   */
  const withoutCall = new Set<string>();
  const finishedTools = new Set<string>();
  const lost = new Set<string>();
  let runTwice = 0;
  let finishedRuns = 0;

  const keep = (messages: readonly Pick<Noted, "key">[], boot: number) => {
    for (const { key } of messages) if (key !== undefined && !kept.has(key)) kept.set(key, boot);
  };
  const demand = (keys: Iterable<string>, messages: readonly Noted[], where: string) => {
    const there = new Set(messages.map(({ key }) => key));
    for (const key of keys) {
      if (there.has(key)) continue;
      lost.add(key);
      faults.push(`${where}: \`${key}\`, which process ${kept.get(key)} had saved or shown, is lost`);
    }
  };

  for (const entry of entries) {
    const where = `process ${entry.boot}`;
    if (entry.kind === "model" || entry.kind === "result" || entry.kind === "state") {
      faults.push(...entry.faults.map((fault) => `${where}, ${entry.kind}: ${fault}`));
    }
    // A client has read what the state shows, also what LangGraph has saved only beside a checkpoint.
    if (entry.kind === "state") keep(entry.messages, entry.boot);
    if (entry.kind === "put-end") keep(entry.messages ?? writtenAt(entries, entry.parentId), entry.boot);
    if (entry.kind === "writes-end" && checkpoints.has(entry.checkpointId))
      for (const { key } of entry.messages) if (key?.startsWith("result ")) withoutCall.add(key);
    if ("messages" in entry) {
      for (const { results = [] } of entry.messages ?? []) for (const key of results) called.add(key);
      for (const key of withoutCall) {
        if (!called.has(key)) continue;
        withoutCall.delete(key);
        keep([{ key }], entry.boot);
        written.add(key);
      }
    }
    if (entry.kind === "tool-start" && kept.has(`result ${entry.callId}`)) {
      runTwice += 1;
      faults.push(`${where}: the tool of ${entry.callId} ran again, although its result was saved`);
    }
    if (entry.kind === "tool-end") finishedTools.add(`result ${entry.callId}`);
    if (entry.kind === "result") {
      finishedRuns += 1;
      demand(
        hasWritten(entries, entry.boot) ? kept.keys() : shownBy(entries, entry.boot),
        entry.messages,
        where,
      );
    }
    if (entry.kind === "error" && !ALLOWED_ERRORS.includes(entry.name)) {
      faults.push(`${where}: ${entry.name}: ${entry.message}`);
    }
  }
  const boots = entries.filter(({ kind }) => kind === "boot").length;
  const ended = entries.filter(({ kind }) => kind === "result" || kind === "error").length;
  return {
    kills: boots - ended,
    mostInARow: longestSeries(entries),
    finishedRuns,
    finishedTools: finishedTools.size,
    unsavedResults: [...finishedTools].filter((key) => !kept.has(key)).length,
    resultsWithoutCall: [...withoutCall].filter((key) => !kept.has(key)).length,
    resultsBesideCheckpoint: [...written].filter((key) => !appliedBefore(entries, key)).length,
    lost: lost.size,
    runTwice,
    faults,
  };
}

const hasWritten = (entries: readonly Entry[], boot: number): boolean =>
  entries.some((entry) => entry.boot === boot && entry.kind === "put-start");

/**
 * What a process read before its run. A run that continues a finished one does nothing, and must return that. It recovers
 * nothing: the next run with input does.
 */
function shownBy(entries: readonly Entry[], boot: number): readonly string[] {
  const shown = entries.filter((entry) => entry.boot === boot && entry.kind === "state");
  return shown
    .flatMap((entry) => ("messages" in entry ? (entry.messages ?? []) : []))
    .flatMap(({ key }) => key ?? []);
}

/** How many processes in a row wrote no end into the ledger. */
function longestSeries(entries: readonly Entry[]): number {
  let most = 0;
  let current = 0;
  for (const { kind } of entries) {
    if (kind === "boot") current += 1;
    // The process of this entry has lived, so the series ended before it.
    if (kind === "result" || kind === "error") current = 0;
    else if (kind === "boot") most = Math.max(most, current - 1);
  }
  return Math.max(most, current);
}

/** Whether a result was in a checkpoint of the process that wrote it. */
function appliedBefore(entries: readonly Entry[], key: string): boolean {
  const writer = entries.find(
    (entry) => entry.kind === "writes-end" && entry.messages.some((message) => message.key === key),
  );
  return entries.some(
    (entry) =>
      entry.kind === "put-end" &&
      entry.boot === writer?.boot &&
      (entry.messages ?? writtenAt(entries, entry.parentId)).some((message) => message.key === key),
  );
}

/** What tasks wrote at a checkpoint. With a delta channel, LangGraph saves it before the next checkpoint. */
function writtenAt(entries: readonly Entry[], checkpointId: string | undefined): readonly Noted[] {
  return entries.flatMap((entry) =>
    entry.kind === "writes-end" && entry.checkpointId === checkpointId ? entry.messages : [],
  );
}
