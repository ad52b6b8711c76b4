/** Threads of real agents in which something has written values of a wrong form. A repair of them can be taken back. */

import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  planRepair,
  type ReceiptEntry,
  undo,
} from "../../src/doctor.js";
import { unwrapped } from "../../src/threads/langgraph/swap-channel.js";
import { AGENT_NAMES, type AgentName, createDeployedAgent } from "../support/deployment/agents.js";
import { driveLocally } from "../support/deployment/local-driver.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { mortalSaver } from "../support/mortal-saver.js";

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
const call = { id: "c1", name: "look", args: {}, type: "tool_call" };
const dangling = [stored("AIMessage", { id: "a1", tool_calls: [call] }), human("h9")];

const MALFORMED: Readonly<Record<string, readonly unknown[]>> = {
  "calls that are an object": [stored("AIMessage", { id: "m", tool_calls: { 0: call } }), human("h8")],
  "calls that are one call": [stored("AIMessage", { id: "m", tool_calls: call }), human("h8")],
  "calls that are a text": [stored("AIMessage", { id: "m", tool_calls: "look" }), human("h8")],
  null: [null],
  undefined: [{ lc: 2, type: "undefined" }],
  "a number": [5],
  "a message of an unknown class": [stored("MoodMessage", { id: "m", content: "Good." })],
  "a message of another package": [{ ...stored("AIMessage", { id: "m" }), id: ["odd_package", "AIMessage"] }],
  "a result with a part of another package": [
    stored("AIMessage", { id: "m", tool_calls: [{ ...call, id: "c2" }] }),
    stored("ToolMessage", {
      id: "r",
      content: "found",
      tool_call_id: "c2",
      artifact: { part: { lc: 1, type: "constructor", id: ["odd_package", "Part"], kwargs: { text: "x" } } },
    }),
  ],
  "a result without the id of a call": [stored("ToolMessage", { id: "m", content: "found" })],
  "a result whose id of a call is undefined": [
    stored("ToolMessage", { id: "m", content: "found", tool_call_id: { lc: 2, type: "undefined" } }),
  ],
  "a call without id and name": [stored("AIMessage", { id: "m", tool_calls: [{ args: {} }] }), human("h8")],
  "a call that is null": [stored("AIMessage", { id: "m", tool_calls: [null, call] }), human("h8")],
};

/** A stored value is JSON. Read so, every value can be compared. */
const asJson = {
  dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
    "json",
    new TextEncoder().encode(JSON.stringify(value)),
  ],
  loadsTyped: async (_: string, data: Uint8Array | string): Promise<unknown> =>
    JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data)),
};

/** A turn of the agent, after which something has put these messages into the list, at its beginning or its end. */
async function makeThread(agent: AgentName, messages: readonly unknown[], place: "first" | "last") {
  const saver = new MemorySaver();
  await driveLocally(agent, saver)("1").say("Hello.");
  const raw = new MemorySaver(asJson as never);
  raw.storage = saver.storage;
  raw.writes = saver.writes;
  const tuple = await raw.getTuple(config);
  if (tuple === undefined) throw new Error("Expected a checkpoint.");
  const { values } = await createDeployedAgent(agent, saver).getState(config);
  const said: unknown[] = JSON.parse(JSON.stringify(values["messages"]));
  const list = place === "first" ? [...messages, ...said, ...dangling] : [...said, ...dangling, ...messages];
  const stored = agent === "delta" ? { lc: 2, type: "delta_snapshot", value: list } : list;
  const channel_values = { ...tuple.checkpoint.channel_values, messages: stored };
  await raw.put(config, { ...tuple.checkpoint, channel_values }, { source: "update", step: 9, parents: {} });
  const read = async () =>
    JSON.stringify(unwrapped((await raw.getTuple(config))?.checkpoint.channel_values["messages"]));
  return { saver, read };
}

/** A receipt in which one entry cannot be written, because the process dies. */
function receiptUntil(count: number) {
  const entries: ReceiptEntry[] = [];
  const append = async (entry: ReceiptEntry) => {
    if (entries.length === count) throw new Error("The process has died.");
    entries.push(JSON.parse(JSON.stringify(entry)));
  };
  return { entries, append };
}

type End = "ends" | "dies before it writes" | "dies after it has written" | "dies, and is run again";
const ENDS: readonly End[] = [
  "ends",
  "dies before it writes",
  "dies after it has written",
  "dies, and is run again",
];

/** Repairs the thread, in a process that ends so. Returns what the receipt has. */
async function repair(agent: AgentName, saver: MemorySaver, end: End): Promise<ReceiptEntry[]> {
  const { mortal, die } = mortalSaver(saver);
  const receipt = receiptUntil(end === "dies after it has written" ? 1 : 9);
  const graph = createDeployedAgent(agent);
  const apply = async (checkpointer: BaseCheckpointSaver) => {
    const plan = planRepair(await createGraphStore({ graph, checkpointer: saver }).read(ref));
    return applyRepair({ store: createGraphStore({ graph, checkpointer }), ref }, plan, { receipt });
  };
  if (end === "dies before it writes" || end === "dies, and is run again") {
    die();
    expect(await apply(mortal)).toMatchObject({ kind: "failed" });
    // The process has not written this down any more.
    receipt.entries.pop();
    if (end === "dies before it writes") return receipt.entries;
  }
  if (end === "dies after it has written") await expect(apply(saver)).rejects.toThrow("died");
  else expect(await apply(saver)).toMatchObject({ kind: "repaired" });
  return receipt.entries;
}

/** The routes of a graph read the last messages. */
const PLACES = process.env["SLOW_TESTS"] === "1" ? (["last", "first"] as const) : (["last"] as const);

describe.each(AGENT_NAMES)("a thread of %s", (agent) => {
  it.each(Object.entries(MALFORMED))("with %s: undo restores it to the byte", async (_, messages) => {
    for (const place of PLACES)
      for (const end of ENDS) {
        const { saver, read } = await makeThread(agent, messages, place);
        const store = createGraphStore({ graph: createDeployedAgent(agent), checkpointer: saver });
        const before = await read();
        const { findings } = diagnoseThread(await store.read(ref));
        expect(findings).not.toEqual([]);
        const entries = await repair(agent, saver, end);
        const outcomes: unknown[] = [];
        for await (const { schemaVersion, threadId, namespace, ...undone } of undo(store, entries))
          outcomes.push({ place, end, ...undone });
        const kinds = {
          ends: ["restored"],
          "dies before it writes": ["unchanged"],
          "dies after it has written": ["restored"],
          "dies, and is run again": ["restored", "unchanged"],
        }[end];
        expect(outcomes).toMatchObject(kinds.map((kind) => ({ place, end, kind })));
        expect(await read()).toBe(before);
        expect(diagnoseThread(await store.read(ref)).findings).toEqual(findings);
      }
  });
});
