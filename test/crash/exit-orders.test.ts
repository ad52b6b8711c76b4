/**
 * With the durability `exit` and a delta channel, LangGraph saves a turn with writes that it begins at once, and then with
 * a checkpoint. A database can have any of the writes when the process is killed.
 */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentEvent, createAgentGraph, type Repair, readFullHistory } from "../../src/index.js";
import { EVENT_CHANNEL, REPAIR_CHANNEL, replaceMethods } from "../support/internals.js";
import { FunctionModel, shortSummariser } from "../support/models.js";
import { strictViolations } from "../support/strict-check.js";
import { inThread, user } from "../support/thread.js";
import { checkLedger } from "./check-ledger.js";
import type { Entry, NewEntry, Noted } from "./job.js";
import { noteAll, notedSaver, RESULT } from "./noted-saver.js";

const config = { ...inThread("1"), durability: "exit" as const };
const TOOLS = ["first", "second"];
const isSlow = process.env["SLOW_TESTS"] === "1";
/** How many times the model of the killed turn calls both tools. */
const ROUNDS = isSlow ? 2 : 1;
const SUMMARIES = { coveredMessages: "archive", maxMessagesBeforeSummary: 5, messagesToKeep: 2 } as const;

const CASES = [
  { turn: "first", kind: "plain" },
  { turn: "second", kind: "summarised" },
  ...(isSlow
    ? [
        { turn: "first", kind: "summarised" },
        { turn: "second", kind: "plain" },
      ]
    : []),
];

type Write = Parameters<BaseCheckpointSaver["putWrites"]>;

interface Process {
  readonly saver: BaseCheckpointSaver;
  readonly boot: number;
  readonly rounds: number;
  readonly entries: Entry[];
  readonly isSummarised: boolean;
}

/** A turn in another process. Gives what a reader finds after it. */
async function turn({ saver, boot, rounds, entries, isSummarised }: Process): Promise<readonly Noted[]> {
  const note = (entry: NewEntry) => void entries.push({ ...entry, boot } as Entry);
  let round = 0;
  const model = new FunctionModel(({ messages }) => {
    note({ kind: "model", faults: strictViolations(messages) });
    round += 1;
    if (round > rounds) return `answer of ${boot}`;
    const tool_calls = TOOLS.map((name, index) => {
      const id = `c${boot}_${round}_${index}`;
      return { id, name, args: { callId: id }, type: "tool_call" as const };
    });
    return new AIMessage({ content: "", tool_calls });
  });
  const tools = TOOLS.map((name) =>
    tool(
      ({ callId }) => {
        note({ kind: "tool-start", callId });
        note({ kind: "tool-end", callId });
        return `${RESULT}${callId}`;
      },
      { name, description: name, schema: z.object({ callId: z.string() }) },
    ),
  );
  const summaries = isSummarised ? { ...SUMMARIES, summaryModel: shortSummariser() } : {};
  const checkpointer = notedSaver(saver, note);
  const graph = createAgentGraph({ model, tools, checkpointer, messagesChannel: "delta", ...summaries });
  note({ kind: "boot", text: `message ${boot}` });
  const state = await graph.invoke(user(`message ${boot}`), config);
  const messages = noteAll(await readFullHistory(graph, config));
  note({ kind: "result", messages, faults: strictViolations(state.messages) });
  return messages;
}

/** A turn whose process is killed while LangGraph saves it. Gives its writes, of which nothing is saved. */
async function killedTurn(process: Process): Promise<readonly Write[]> {
  const writes: Write[] = [];
  const saver = replaceMethods(process.saver, {
    put: async (...given) => {
      // The empty checkpoint of a new thread.
      if (given[2].step === -2) return process.saver.put(...given);
      throw new Error("The process has died.");
    },
    putWrites: async (...given) => void writes.push(given),
  });
  const entries: Entry[] = [];
  await expect(turn({ ...process, saver, entries })).rejects.toThrow("died");
  process.entries.push(...entries.filter(({ kind }) => kind !== "writes-end"));
  return writes;
}

function copyOf(saver: MemorySaver): MemorySaver {
  const copy = new MemorySaver();
  copy.storage = structuredClone(saver.storage);
  copy.writes = structuredClone(saver.writes);
  return copy;
}

interface KilledThread {
  readonly base: MemorySaver;
  readonly saved: readonly Write[];
  readonly before: readonly Entry[];
  readonly isSummarised: boolean;
}

/** The turn after the killed one: what a reader finds then, and the results that are told as dropped. */
async function nextTurn({ base, saved, before, isSummarised }: KilledThread) {
  const saver = copyOf(base);
  const entries = [...before];
  const noted = notedSaver(saver, (entry) => void entries.push({ ...entry, boot: 1 } as Entry));
  for (const write of saved) await noted.putWrites(...write);
  const told: string[] = [];
  const shown: string[] = [];
  const hear = (published: unknown) => {
    const each = published as AgentEvent | Repair;
    if ("kind" in each && each.kind === "orphan-refused") told.push(...linesOf([each.message]));
    if ("type" in each && each.type === "result-dropped") shown.push(...linesOf([each.message]));
  };
  const channels = [REPAIR_CHANNEL, EVENT_CHANNEL];
  for (const name of channels) subscribe(name, hear);
  const keys = (await turn({ saver, boot: 2, rounds: 1, entries, isSummarised })).map(({ key }) => key);
  for (const name of channels) unsubscribe(name, hear);
  return { keys, told, shown, entries };
}

const linesOf = (messages: readonly unknown[]) => noteAll(messages).map(({ line }) => line);

const notedIn = (writes: readonly Write[]) =>
  writes.flatMap(([, values]) =>
    values.flatMap(([channel, value]) => (channel === "messages" ? noteAll(value) : [])),
  );

/** The keys of the messages that a reader must find: a result without its call has no place. */
function keysToFind(writes: readonly Write[]): readonly string[] {
  const messages = notedIn(writes);
  const called = messages.flatMap(({ results = [] }) => results);
  return messages.flatMap(({ key }) =>
    key !== undefined && (!key.startsWith("result ") || called.includes(key)) ? key : [],
  );
}

describe.each(CASES)("Of the $turn turn of a $kind thread", ({ turn: which, kind }) => {
  it("every part that LangGraph saved is there, and runs once", async () => {
    const base = new MemorySaver();
    const isSummarised = kind !== "plain";
    const before: Entry[] = [];
    if (which === "second") await turn({ saver: base, boot: 0, rounds: 1, entries: before, isSummarised });
    const writes = await killedTurn({ saver: base, boot: 1, rounds: ROUNDS, entries: before, isSummarised });
    for (let part = 0; part < 2 ** writes.length; part += 1) {
      // Any write is in about half of these sets, beside others and without them.
      if (!isSlow && part % 3 !== 1) continue;
      const saved = writes.filter((_, index) => (part >> index) % 2 === 1);
      const { keys, told, shown, entries } = await nextTurn({ base, saved, before, isSummarised });
      const where = `of ${writes.length} writes these were saved: ${part.toString(2)}`;
      expect(keys, where).toEqual(expect.arrayContaining([...keysToFind(saved)]));
      const known = keys.filter((key) => key !== undefined);
      expect(known, where).toEqual([...new Set(known)]);
      const { faults, resultsWithoutCall } = checkLedger(entries);
      expect(faults, where).toEqual([]);
      const notFound = notedIn(saved).filter(({ key }) => key?.startsWith("result ") && !keys.includes(key));
      expect(resultsWithoutCall, where).toBe(notFound.length);
      const dropped = notFound.map(({ line }) => line).toSorted();
      expect(told.toSorted(), where).toEqual(dropped);
      expect(shown.toSorted(), where).toEqual(dropped);
    }
  });
});

describe("A result whose call LangGraph has not saved", () => {
  const written = async (rounds: number) => {
    const base = new MemorySaver();
    const isSummarised = true;
    const before: Entry[] = [];
    const writes = await killedTurn({ saver: base, boot: 1, rounds, entries: before, isSummarised });
    const result = writes.filter((write) => notedIn([write])[0]?.key === "result c1_1_0");
    return { base, before, isSummarised, result };
  };

  it("is dropped, and told", async () => {
    const { result, ...thread } = await written(2);
    const { keys, told, shown } = await nextTurn({ ...thread, saved: result });
    expect(keys).not.toContain("result c1_1_0");
    expect(told).toEqual(["tool c1_1_0  result of c1_1_0"]);
    expect(shown).toEqual(told);
  });
});
