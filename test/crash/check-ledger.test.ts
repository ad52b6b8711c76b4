import { describe, expect, it } from "vitest";
import { checkLedger, NO_CRASHES } from "./check-ledger.js";
import type { Entry, Noted } from "./job.js";

const human: Noted = { key: "human hi", line: "human" };
const result: Noted = { key: "result c0_0_0", line: "tool" };
/** No reader has to find it in these tests. */
const asking: Noted = { key: undefined, line: "ai", results: ["result c0_0_0"] };

const boot: Entry = { boot: 0, kind: "boot", text: "hi" };
const saved = (boot: number, checkpointId: string, messages: readonly Noted[]): Entry => ({
  boot,
  kind: "put-end",
  checkpointId,
  parentId: undefined,
  versions: {},
  messages,
});
const written: Entry = { boot: 0, kind: "writes-end", checkpointId: "1", messages: [result] };
const ended: Entry = { boot: 0, kind: "tool-end", callId: "c0_0_0" };
const again: Entry = { boot: 1, kind: "boot", text: null };
const works: Entry = { boot: 1, kind: "put-start" };
const shown: Entry = {
  boot: 1,
  kind: "state",
  messages: [human, result, { key: "ai a1", line: "ai" }],
  faults: [],
};
const returned = (messages: readonly Noted[], faults: readonly string[] = []): Entry => ({
  boot: 1,
  kind: "result",
  messages,
  faults,
});

const killed: readonly Entry[] = [boot, saved(0, "1", [human, asking]), ended, written];

describe("The check of a ledger", () => {
  it("finds nothing in a thread that kept everything", () => {
    const crashes = checkLedger([...killed, again, works, returned([human, result])]);
    const counts = { kills: 1, mostInARow: 1, finishedRuns: 1, finishedTools: 1, resultsBesideCheckpoint: 1 };
    expect(crashes).toEqual({ ...NO_CRASHES, ...counts, faults: [] });
  });

  it("finds the messages of a delta channel in the writes before a checkpoint", () => {
    const asked: Entry = { boot: 0, kind: "writes-end", checkpointId: "0", messages: [human, asking] };
    const delta = (checkpointId: string, parentId: string): Entry => ({
      ...(saved(0, checkpointId, []) as Extract<Entry, { kind: "put-end" }>),
      parentId,
      messages: undefined,
    });
    const entries = [
      boot,
      delta("0", ""),
      asked,
      delta("1", "0"),
      ended,
      written,
      delta("2", "1"),
      again,
      works,
    ];
    expect(checkLedger([...entries, returned([result])])).toMatchObject({
      lost: 1,
      resultsBesideCheckpoint: 0,
    });
    expect(checkLedger([...entries, returned([human, result])]).faults).toEqual([]);
  });

  it.each<{ fault: RegExp; entries: readonly Entry[] }>([
    { fault: /`human hi`.* is lost/, entries: [returned([result])] },
    { fault: /`result c0_0_0`.* is lost/, entries: [returned([human])] },
    { fault: /`ai a1`.* is lost/, entries: [shown, returned([human, result])] },
    { fault: /no result/, entries: [returned([human, result], ["no result"])] },
    { fault: /ran again/, entries: [{ boot: 1, kind: "tool-start", callId: "c0_0_0" }] },
    { fault: /bad history/, entries: [{ boot: 1, kind: "model", faults: ["bad history"] }] },
    { fault: /TypeError/, entries: [{ boot: 1, kind: "error", name: "TypeError", message: "x" }] },
  ])("finds $fault", ({ fault, entries }) => {
    expect(checkLedger([...killed, again, works, ...entries]).faults).toEqual([expect.stringMatching(fault)]);
  });
});
