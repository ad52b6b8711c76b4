import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, interrupt, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type FinishOptions,
  type FinishOutcome,
  finishThreads,
  type UnfinishedOptions,
  type UnfinishedThread,
  unfinishedThreads,
} from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { deferred } from "../support/deferred.js";
import { calls, FunctionModel } from "../support/models.js";
import { inThread, user } from "../support/thread.js";

/** Each thread's message says what its turn does. */
type Turn = "answer" | "fail" | "ask" | "stop-in-tool" | "stop-in-model";

const NOW = { quietMs: 0 };

/** An agent whose tools note each start, and whose runs can be stopped where they are. */
function createWorld(kind: "createAgentGraph" | "createAgent", checkpointer: BaseCheckpointSaver) {
  const paid: string[] = [];
  const looked: string[] = [];
  let hasBegun = deferred<void>();
  let isDown = true;
  const stuck = async (signal: AbortSignal | undefined) => {
    hasBegun.resolve();
    await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  };
  const schema = z.object({ id: z.string() });
  const pay = tool(
    async ({ id }, { signal }) => {
      paid.push(id);
      if (isDown) await stuck(signal);
      return `paid ${id}`;
    },
    { name: "pay", description: "Pays.", schema },
  );
  const look = tool(
    async ({ id }) => {
      looked.push(id);
      return `seen ${id}`;
    },
    { name: "look", description: "Looks.", schema, metadata: { replay: "safe" } },
  );
  const ask = tool(async () => `${interrupt("May I?")}`, { name: "ask", description: "Asks.", schema });
  const model = new FunctionModel(async ({ messages }) => {
    const said = messages.at(-1);
    const turn = said?.type === "human" ? (said.text as Turn) : "answer";
    if (turn === "fail" && isDown) throw new Error("no key");
    if (turn === "ask") return calls(["ask", { id: "1" }]);
    if (turn === "stop-in-tool") return calls(["pay", { id: "1" }], ["look", { id: "2" }]);
    if (turn === "stop-in-model" && isDown) {
      hasBegun.resolve();
      await new Promise(() => {});
    }
    return new AIMessage("Done.");
  });
  const parts = { model, tools: [pay, look, ask], checkpointer };
  const agent =
    kind === "createAgentGraph"
      ? createAgentGraph(parts)
      : createAgent({ ...parts, middleware: [tetherMiddleware()] });
  /** Runs a turn until it ends or hangs. Then it is aborted. */
  const play = async (threadId: string, turn: Turn) => {
    hasBegun = deferred<void>();
    const controller = new AbortController();
    const config = { ...inThread(threadId), signal: controller.signal };
    const ended = (agent.invoke as (...given: unknown[]) => Promise<unknown>)(user(turn), config).catch(
      () => {},
    );
    await Promise.race([ended, hasBegun.promise]);
    controller.abort(new Error("stopped"));
    await ended;
  };
  return { agent, play, paid, looked, mend: () => (isDown = false) };
}

async function list(place: object, options: UnfinishedOptions = NOW): Promise<UnfinishedThread[]> {
  const found: UnfinishedThread[] = [];
  for await (const thread of unfinishedThreads(place, options)) found.push(thread);
  return found;
}

async function finish(agent: object, threads: readonly UnfinishedThread[], options: FinishOptions = {}) {
  const outcomes: FinishOutcome[] = [];
  for await (const outcome of finishThreads(agent, threads, options)) outcomes.push(outcome);
  return outcomes;
}

const SAVERS = {
  MemorySaver: () => new MemorySaver(),
  SqliteSaver: () => {
    const saver = SqliteSaver.fromConnString(":memory:");
    onTestFinished(() => void saver.db.close());
    return saver;
  },
};

describe.each(["createAgentGraph", "createAgent"] as const)("unfinished threads of %s", (kind) => {
  it.each(Object.entries(SAVERS))("are listed and finished over %s", async (_, open) => {
    const world = createWorld(kind, open());
    const { agent, play, paid } = world;
    const turns = ["answer", "fail", "ask", "stop-in-tool", "stop-in-model"] as const;
    for (const turn of turns) await play(turn, turn);
    const found = await list(agent);
    const kinds = Object.fromEntries(found.map((thread) => [thread.threadId, thread.kind]));
    expect(kinds).toEqual({
      fail: "failed",
      ask: "waiting",
      "stop-in-tool": expect.stringMatching(/failed|stopped/),
      "stop-in-model": expect.stringMatching(/failed|stopped/),
    });
    const inTool = found.find(({ threadId }) => threadId === "stop-in-tool");
    expect(inTool?.calls).toEqual([
      { callId: expect.any(String), tool: "pay", outcome: "unknown" },
      { callId: expect.any(String), tool: "look", outcome: "returned" },
    ]);
    expect(paid).toEqual(["1"]);
    world.mend();
    const outcomes = await finish(agent, found, { concurrency: 3 });
    expect(Object.fromEntries(outcomes.map((outcome) => [outcome.threadId, outcome.kind]))).toEqual({
      fail: "finished",
      ask: "waiting",
      "stop-in-tool": "finished",
      "stop-in-model": "finished",
    });
    expect(paid).toEqual(["1"]);
    expect((await list(agent)).map(({ threadId }) => threadId)).toEqual(["ask"]);
  });
});
