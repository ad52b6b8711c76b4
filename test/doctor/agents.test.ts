import type { BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  MessagesAnnotation,
  MessagesDeltaValue,
  StateSchema,
} from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createDeepAgent } from "deepagents";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  type GraphThread,
  planRepair,
  type ReceiptEntry,
  readThread,
  undo,
} from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { createProbe, type Probe } from "../support/probe-tools.js";
import { SAVERS } from "../support/savers.js";
import { calls, type ScriptedModel, scripted } from "../support/scripted-model.js";
import { inThread, pairedScript, script, user } from "../support/thread.js";

type Runnable = {
  invoke(input: unknown, config: unknown): Promise<unknown>;
  updateState?(config: unknown, values: unknown): Promise<unknown>;
  graph?: Runnable;
  getState(config: unknown): Promise<{ values: Record<string, unknown>; next: readonly string[] }>;
};

interface Agent {
  readonly agent: object;
  readonly graph: Runnable;
}

const withNotes = createMiddleware({
  name: "notes",
  stateSchema: z.object({ notes: z.array(z.string()).default([]) }),
});

const KINDS: Readonly<
  Record<string, (model: ScriptedModel, probe: Probe, checkpointer: BaseCheckpointSaver) => Promise<object>>
> = {
  createAgent: async (model, { fast, heedful }, checkpointer) =>
    createAgent({ model, tools: [fast, heedful], checkpointer, middleware: [withNotes] }),
  "createAgent over a delta channel": async (model, { fast, heedful }, checkpointer) =>
    createAgent({
      model,
      tools: [fast, heedful],
      checkpointer,
      middleware: [withNotes],
      stateSchema: new StateSchema({ messages: MessagesDeltaValue }) as never,
    }),
  createReactAgent: async (llm, { fast, heedful }, checkpointer) =>
    createReactAgent({
      llm,
      tools: [fast, heedful],
      checkpointSaver: checkpointer,
      version: "v2",
      stateSchema: Annotation.Root({
        ...MessagesAnnotation.spec,
        notes: Annotation<string[]>({ reducer: (_, notes) => notes, default: () => [] }),
      }) as never,
    }),
  createDeepAgent: async (model, { fast, heedful }, checkpointer) =>
    createDeepAgent({
      model,
      tools: [fast, heedful],
      checkpointer,
      middleware: [withNotes] as never,
    }) as object,
  createAgentGraph: async (model, { fast, heedful }, checkpointer) =>
    createAgentGraph({
      model,
      tools: [fast, heedful],
      checkpointer,
      stateSchema: z.object({ notes: z.array(z.string()).default([]) }),
    }),
  "createAgentGraph over a delta channel": async (model, { fast, heedful }, checkpointer) =>
    createAgentGraph({
      model,
      tools: [fast, heedful],
      checkpointer,
      messagesChannel: "delta",
      stateSchema: z.object({ notes: z.array(z.string()).default([]) }),
    }),
};

async function open(kind: string, saver: BaseCheckpointSaver) {
  const probe = createProbe();
  const create = KINDS[kind];
  if (create === undefined) throw new Error(kind);
  const model = scripted(calls(["fast", {}, "f"], ["heedful", {}, "h"]), "Better now.");
  const agent = await create(model, probe, saver);
  return { agent, probe, graph: (Reflect.get(agent, "graph") ?? agent) as Runnable };
}

/** A thread whose run was cancelled when one tool of two had finished, and that then got a message. */
async function breakThread({ graph, probe }: Agent & { probe: Probe }, config: object) {
  const controller = new AbortController();
  const run = graph.invoke(
    { ...user("Go.", "u1"), notes: ["kept"] },
    { ...config, signal: controller.signal },
  );
  await probe.hasBegun(2);
  await expect.poll(() => probe.ends).toContain("fast:-");
  controller.abort();
  await expect(run).rejects.toThrow();
}

/** The JSON of each message, as the database has it. */
async function storedJson(place: GraphThread): Promise<string[]> {
  const { content } = await readThread(place);
  if (content.kind !== "read") throw new Error(content.kind);
  return content.messages.map((message) => JSON.stringify(message));
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function memoryReceipt() {
  const entries: ReceiptEntry[] = [];
  return { entries, append: async (entry: ReceiptEntry) => void entries.push(entry) };
}

/** The first one is a part of the second one. */
const OTHER_SAVERS = SAVERS.filter(({ isThere, title }) => isThere && title !== "MemorySaver");

describe.each(OTHER_SAVERS)("over $title", ({ open: openDatabase }) => {
  it.each(Object.keys(KINDS))("a thread of %s is found, mended, goes on, and is restored", async (kind) => {
    const opened = await open(kind, (await openDatabase()).connect());
    const { agent, graph } = opened;
    const config = inThread("1");
    await breakThread(opened, config);
    const place = { graph: agent, config };

    // A database saves the result of a finished tool after the run has ended.
    await expect.poll(async () => (await diagnoseThread(place)).findings.length).toBe(3);
    const report = await diagnoseThread(place);
    expect(report.findings.map(({ code, callId }) => `${code} ${callId}`)).toEqual([
      "pairing/dangling-call f",
      "state/pending-result f",
      "pairing/dangling-call h",
    ]);
    expect(await diagnoseThread(place)).toEqual(report);

    const before = await storedJson(place);
    const plan = await planRepair(place);
    const receipt = memoryReceipt();
    const outcome = await applyRepair(place, plan, { receipt });
    expect(outcome).toMatchObject({ kind: "repaired", report: { outcome: "sound" } });
    const mended = await graph.getState(config);
    expect(mended.values["notes"]).toEqual(["kept"]);
    expect(pairedScript(mended.values)).toEqual([
      "human: Go.",
      "ai> fast heedful",
      "tool: fast done -",
      expect.stringMatching(/^tool! Tool call heedful \(h\): the run ended before it finished/),
    ]);

    const [restored] = await all(undo(createGraphStore({ graph: agent }), receipt.entries));
    expect(restored).toMatchObject({ kind: "restored" });
    expect(await storedJson(place)).toEqual(before);
    expect((await diagnoseThread(place)).findings).toEqual(report.findings);

    expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({
      kind: "repaired",
    });
    await graph.invoke(user("And now?"), config);
    const { values } = await graph.getState(config);
    expect(script(values["messages"] as BaseMessage[]).at(-1)).toBe("ai: Better now.");
    expect(values["notes"]).toEqual(["kept"]);
  });
});
