import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, interrupt, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  createGraphStore,
  type FinishOptions,
  type FinishOutcome,
  finishThreads,
  type UnfinishedOptions,
  type UnfinishedThread,
  unfinishedThreads,
} from "../../src/doctor.js";
import { createAgentGraph, type ThreadLock } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { deferred } from "../support/deferred.js";
import { calls, FunctionModel } from "../support/models.js";
import { mortalSaver } from "../support/mortal-saver.js";
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
  const play = async (threadId: string, turn: Turn, die = () => {}) => {
    hasBegun = deferred<void>();
    const controller = new AbortController();
    const config = { ...inThread(threadId), signal: controller.signal };
    const ended = (agent.invoke as (...given: unknown[]) => Promise<unknown>)(user(turn), config).catch(
      () => {},
    );
    await Promise.race([ended, hasBegun.promise]);
    die();
    controller.abort(new Error("stopped"));
    await ended;
  };
  return { agent, play, paid, looked, repair: () => (isDown = false) };
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
      "stop-in-tool": "cancelled",
      "stop-in-model": "cancelled",
    });
    const inTool = found.find(({ threadId }) => threadId === "stop-in-tool");
    expect(inTool?.calls).toEqual([
      { callId: expect.any(String), tool: "pay", outcome: "unknown" },
      { callId: expect.any(String), tool: "look", outcome: "returned" },
    ]);
    expect(paid).toEqual(["1"]);
    world.repair();
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

describe("unfinishedThreads", () => {
  it("says that a run may be going on until the thread has been quiet for long enough", async () => {
    const saver = new MemorySaver();
    const { mortal, die } = mortalSaver(saver);
    await createWorld("createAgentGraph", mortal).play("1", "stop-in-model", die);
    const { agent } = createWorld("createAgentGraph", saver);
    expect(await list(agent)).toMatchObject([{ kind: "stopped" }]);
    expect(await list(agent, {})).toMatchObject([
      { kind: "going-on", evidence: expect.stringMatching(/^The latest checkpoint is \d+ seconds? old and/) },
    ]);
    expect(await finish(agent, await list(agent, {}))).toMatchObject([{ kind: "skipped", reason: "busy" }]);
  });

  it("selects threads, and takes a store", async () => {
    const { agent, play } = createWorld("createAgentGraph", new MemorySaver());
    for (const id of ["1", "2", "3", "4"]) await play(id, id === "1" ? "answer" : "stop-in-model");
    const idsOf = async (options: UnfinishedOptions, place: object = createGraphStore({ graph: agent })) =>
      (await list(place, { ...NOW, ...options })).map(({ threadId }) => threadId).toSorted();
    expect(await idsOf({})).toEqual(["2", "3", "4"]);
    expect(await idsOf({ threadIds: ["1", "3"] })).toEqual(["3"]);
    // Nobody's run has ended early there.
    await agent.updateState(inThread("5"), user("imported") as never, "__start__");
    expect(await idsOf({})).toEqual(["2", "3", "4"]);
    expect(await idsOf({ since: new Date(Date.now() + 3_600_000) })).toEqual([]);
    // A finished thread does not count, also where the store would have to read it.
    const all = async function* () {
      for (const threadId of ["1", "2", "3", "4"]) yield { threadId, namespace: "" };
    };
    expect(await idsOf({ limit: 2 }, createGraphStore({ graph: agent, list: all }))).toEqual(["2", "3"]);
  });

  it.each<[object, RegExp]>([
    [{ quiet: 1 }, /Unknown setting `quiet`. Did you mean `quietMs`/],
    [{ quietMs: -1 }, /Expected `quietMs` to be an integer of 0 or more/],
    [{ since: "1d" }, /Expected `since` to be a Date/],
  ])("refuses %o", (options, message) => {
    const { agent } = createWorld("createAgentGraph", new MemorySaver());
    expect(() => unfinishedThreads(agent, options)).toThrow(message);
  });

  it("refuses a graph without a checkpointer", () => {
    expect(() => unfinishedThreads(createAgentGraph({ model: "offline:" }))).toThrow(
      /Expected `checkpointer` to be a checkpointer/,
    );
  });
});

describe("finishThreads", () => {
  /** Three threads that were stopped in the model, and one that fails. */
  async function stopped(kind: "createAgentGraph" | "createAgent") {
    const world = createWorld(kind, new MemorySaver());
    for (const id of ["1", "2", "3"]) await world.play(id, "stop-in-model");
    await world.play("failing", "fail");
    return world;
  }
  const kindsOf = (outcomes: readonly FinishOutcome[]) =>
    Object.fromEntries(outcomes.map(({ threadId, ...outcome }) => [threadId, outcome.kind]));

  it("goes on after a failure, and reports its error", async () => {
    const { agent, repair } = await stopped("createAgentGraph");
    const found = await list(agent);
    repair();
    const asked: string[] = [];
    const config = async ({ threadId }: UnfinishedThread) => {
      if (threadId === "failing") throw new Error("no config");
      return { callbacks: [{ handleChatModelStart: () => void asked.push(threadId) }] };
    };
    const outcomes = await finish(agent, found, { config });
    expect(kindsOf(outcomes)).toEqual({ 1: "finished", 2: "finished", 3: "finished", failing: "failed" });
    const { error } = outcomes.find(({ kind }) => kind === "failed") as { error: unknown };
    expect(error).toMatchObject({ message: "no config" });
    expect(asked.toSorted()).toEqual(["1", "2", "3"]);
  });

  it("skips a thread that has moved on, also to its end", async () => {
    const { agent, repair, play } = await stopped("createAgentGraph");
    const found = await list(agent);
    repair();
    await play("1", "answer");
    expect(kindsOf(await finish(agent, found))).toMatchObject({ 1: "skipped", 2: "finished" });
    expect((await finish(agent, found)).map((outcome) => Object(outcome).reason)).toEqual(
      found.map(() => "moved"),
    );
  });

  it("skips a thread that this process runs", async () => {
    const world = await stopped("createAgentGraph");
    const { agent } = world;
    const found = await list(agent);
    const controller = new AbortController();
    const config = { ...inThread("1"), signal: controller.signal };
    const run = (agent.invoke as (...given: unknown[]) => Promise<unknown>)(null, config).catch(() => {});
    const only = found.filter(({ threadId }) => threadId === "1");
    expect(await finish(agent, only)).toMatchObject([{ kind: "skipped", reason: "busy" }]);
    controller.abort();
    await run;
  });

  it("continues no more threads at once than it may, and none after the abort", async () => {
    const { agent } = await stopped("createAgentGraph");
    const found = await list(agent);
    const controller = new AbortController();
    let begun = 0;
    const config = () => {
      begun += 1;
      if (begun === 2) setImmediate(() => controller.abort(new Error("enough")));
      return {};
    };
    // The model does not answer.
    const hanging = found.filter(({ threadId }) => threadId !== "failing");
    const outcomes = await finish(agent, hanging, { concurrency: 2, signal: controller.signal, config });
    expect(begun).toBe(2);
    expect(outcomes).toMatchObject([
      { kind: "failed", error: { message: "enough" } },
      { kind: "failed", error: { message: "enough" } },
    ]);
  });

  it("says what became of each thread before it throws what the list throws", async () => {
    const { agent, repair } = await stopped("createAgent");
    const found = await list(agent);
    repair();
    async function* broken() {
      yield* found.slice(0, 2);
      throw new Error("the database is gone");
    }
    const outcomes: FinishOutcome[] = [];
    const finishing = (async () => {
      for await (const outcome of finishThreads(agent, broken(), { concurrency: 3 })) outcomes.push(outcome);
    })();
    await expect(finishing).rejects.toThrow("the database is gone");
    expect(outcomes.map(({ threadId }) => threadId).sort()).toEqual(
      found
        .slice(0, 2)
        .map(({ threadId }) => threadId)
        .sort(),
    );
  });

  const lockOf = (held: readonly string[], steps: string[]): Required<ThreadLock> => {
    const acquire = async (threadId: string) => {
      steps.push(`+${threadId}`);
      return () => void steps.push(`-${threadId}`);
    };
    return {
      acquire,
      tryAcquire: async (threadId) => (held.includes(threadId) ? undefined : acquire(threadId)),
    };
  };

  it("holds the lock of each thread of createAgent, and skips those whose lock is held", async () => {
    const { agent, repair } = await stopped("createAgent");
    const found = await list(agent);
    repair();
    const steps: string[] = [];
    const outcomes = await finish(agent, found, { lock: lockOf(["2"], steps) });
    expect(kindsOf(outcomes)).toMatchObject({ 1: "finished", 2: "skipped", 3: "finished" });
    expect(steps.filter((step) => /\d/.test(step))).toEqual(["+1", "-1", "+3", "-3"]);
    const { acquire } = lockOf([], steps);
    const again = await finish(agent, await list(agent), { lock: { acquire } });
    expect(kindsOf(again)).toEqual({ 2: "finished" });
  });

  it("takes the lock of createAgentGraph by itself, and only if it is free", async () => {
    const checkpointer = new MemorySaver();
    const steps: string[] = [];
    const { play } = createWorld("createAgentGraph", checkpointer);
    for (const id of ["1", "2"]) await play(id, "stop-in-model");
    const model = new FunctionModel(() => "Done.");
    const agent = createAgentGraph({ model, checkpointer, concurrentRuns: lockOf(["2"], steps) });
    expect(kindsOf(await finish(agent, await list(agent)))).toEqual({ 1: "finished", 2: "skipped" });
    expect(steps).toEqual(["+1", "-1"]);
    // Any other run waits.
    await agent.invoke(null as never, inThread("2"));
    expect(steps).toEqual(["+1", "-1", "+2", "-2"]);
  });

  it("refuses what it cannot finish threads with", async () => {
    const { agent } = createWorld("createAgentGraph", new MemorySaver());
    const { agent: other } = createWorld("createAgent", new MemorySaver());
    const plain = createAgent({ model: new FunctionModel(() => "Hello."), checkpointer: new MemorySaver() });
    const refusals: [() => unknown, RegExp][] = [
      [() => finishThreads(plain, []), /Expected `agent` to be an agent of `createAgentGraph`, or of/],
      [() => finishThreads({}, []), /Expected `agent` to be a compiled graph/],
      [() => finishThreads(agent, "1" as never), /Expected `threads` to be what `unfinishedThreads` returns/],
      [() => finishThreads(agent, [], { lock: lockOf([], []) }), /Expected no `lock`.*as `concurrentRuns`/],
      [() => finishThreads(other, [], { lock: {} as never }), /Expected `lock` to be a lock of threads/],
      [() => finishThreads(agent, [], { concurrency: 0 }), /Expected `concurrency` to be an integer of 1/],
      [() => finishThreads(agent, [], { parallel: 2 } as never), /Unknown setting `parallel`/],
    ];
    for (const [call, message] of refusals) expect(call).toThrow(message);
  });
});
