/** Threads of real agents in which something has written values of a wrong form. A repair of them can be taken back. */

import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  planRepair,
  type ReceiptEntry,
} from "../../src/doctor.js";
import { AGENT_NAMES, type AgentName, createDeployedAgent } from "../support/deployment/agents.js";
import { driveLocally } from "../support/deployment/driver.js";
import { asJson } from "../support/deployment/stored-deployment.js";
import { unwrapped } from "../support/internals.js";
import { mortalSaver } from "../support/mortal-saver.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";
import { undone } from "./repair.js";

expectWarnings(OLD_PACKAGES);

const ref = { threadId: "1", namespace: "" };
const config = { configurable: { thread_id: "1", checkpoint_ns: "" } };

const stored = (name: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", name],
  kwargs: { content: "", additional_kwargs: {}, response_metadata: {}, ...kwargs },
});
const human = (id: string) => stored("HumanMessage", { id, content: "Hello?" });
const asking = (tool_calls: unknown) => stored("AIMessage", { id: "m", tool_calls });
const returned = (kwargs: object) => stored("ToolMessage", { id: "r", content: "found", ...kwargs });
const undefinedValue = { lc: 2, type: "undefined" };
const call = { id: "c1", name: "look", args: {}, type: "tool_call" };
const dangling = [stored("AIMessage", { id: "a1", tool_calls: [call] }), human("h9")];
const oddPart = { lc: 1, type: "constructor", id: ["odd_package", "Part"], kwargs: { text: "x" } };

const MALFORMED: Readonly<Record<string, readonly unknown[]>> = {
  "calls that are an object": [asking({ 0: call }), human("h8")],
  "calls that are one call": [asking(call), human("h8")],
  "calls that are a text": [asking("look"), human("h8")],
  null: [null],
  undefined: [undefinedValue],
  "a number": [5],
  "a message of an unknown class": [stored("MoodMessage", { id: "m", content: "Good." })],
  "a message of another package": [{ ...stored("AIMessage", { id: "m" }), id: ["odd_package", "AIMessage"] }],
  "a result with a part of another package": [
    asking([{ ...call, id: "c2" }]),
    returned({ tool_call_id: "c2", artifact: { part: oddPart } }),
  ],
  "a result without the id of a call": [returned({})],
  "a result whose id of a call is undefined": [returned({ tool_call_id: undefinedValue })],
  "a call without id and name": [asking([{ args: {} }]), human("h8")],
  "a call that is null": [asking([null, call]), human("h8")],
};

/** How the process of a repair ends, and what an undo says then. */
const ENDS = {
  ends: ["restored"],
  "dies before it writes": ["unchanged"],
  "dies after it has written": ["restored"],
  "dies, and is run again": ["restored", "unchanged"],
} as const;

const isSlow = process.env["SLOW_TESTS"] === "1";
/** The routes of a graph read the last messages. */
const PLACES = isSlow ? (["last", "first"] as const) : (["last"] as const);

const CASES = Object.entries(MALFORMED).flatMap(([title, messages]) =>
  PLACES.flatMap((place) =>
    Object.entries(ENDS).map(([end, kinds]) => ({ title, messages, place, end, kinds })),
  ),
);

/** By default each case is tried with half of the agents. */
const casesOf = (agent: AgentName) =>
  CASES.filter((_, index) => isSlow || (index + AGENT_NAMES.indexOf(agent)) % 2 === 0);

describe.each(AGENT_NAMES)("undo restores to the byte a thread of %s", (agent) => {
  const graph = createDeployedAgent(agent);
  const turn = new MemorySaver();
  let said: unknown[] = [];
  beforeAll(async () => {
    const driver = driveLocally(agent, turn)("1");
    await driver.say("Hello.");
    said = JSON.parse(JSON.stringify(await driver.read()));
  });

  /** A turn of the agent, after which something has put these messages into the list, at its beginning or its end. */
  async function makeThread(messages: readonly unknown[], place: "first" | "last") {
    const saver = new MemorySaver();
    const raw = new MemorySaver(asJson as never);
    saver.storage = structuredClone(turn.storage);
    saver.writes = structuredClone(turn.writes);
    raw.storage = saver.storage;
    raw.writes = saver.writes;
    const tuple = await raw.getTuple(config);
    if (tuple === undefined) throw new Error("Expected a checkpoint.");
    const list = [...said, ...dangling];
    const value = place === "first" ? [...messages, ...list] : [...list, ...messages];
    const channel = agent === "delta" ? { lc: 2, type: "delta_snapshot", value } : value;
    const channel_values = { ...tuple.checkpoint.channel_values, messages: channel };
    await raw.put(
      config,
      { ...tuple.checkpoint, channel_values },
      { source: "update", step: 9, parents: {} },
    );
    const read = async () =>
      JSON.stringify(unwrapped((await raw.getTuple(config))?.checkpoint.channel_values["messages"]));
    return { saver, read };
  }

  /** Repairs the thread, in a process that ends so. Returns what the receipt has. */
  async function repair(saver: MemorySaver, end: string): Promise<ReceiptEntry[]> {
    const entries: ReceiptEntry[] = [];
    const append = async (entry: ReceiptEntry) => {
      if (end === "dies after it has written" && entries.length === 1)
        throw new Error("The process has died.");
      entries.push(JSON.parse(JSON.stringify(entry)));
    };
    const apply = async (checkpointer: BaseCheckpointSaver) => {
      const plan = planRepair(await createGraphStore({ graph, checkpointer: saver }).read(ref));
      const store = createGraphStore({ graph, checkpointer });
      return applyRepair({ store, ref }, plan, { receipt: { append } });
    };
    if (end === "dies before it writes" || end === "dies, and is run again") {
      const { mortal, die } = mortalSaver(saver);
      die();
      expect(await apply(mortal)).toMatchObject({ kind: "failed" });
      // The process has not written this down any more.
      entries.pop();
      if (end === "dies before it writes") return entries;
    }
    if (end === "dies after it has written") await expect(apply(saver)).rejects.toThrow("died");
    else expect(await apply(saver)).toMatchObject({ kind: "repaired" });
    return entries;
  }

  it.each(casesOf(agent))(
    "with $title, at its $place place, if a repair $end",
    async ({ messages, place, end, kinds }) => {
      const { saver, read } = await makeThread(messages, place);
      const store = createGraphStore({ graph, checkpointer: saver });
      const before = await read();
      const { findings } = diagnoseThread(await store.read(ref));
      expect(findings).not.toEqual([]);
      expect(await undone(store, await repair(saver, end))).toEqual(kinds);
      expect(await read()).toBe(before);
      expect(diagnoseThread(await store.read(ref)).findings).toEqual(findings);
    },
  );
});
