/** A caller who hears of an abort can let another process go on with the thread: nothing is on its way any more. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { afterEach, describe, expect, it, vi } from "vitest";
import { agentMiddleware, createAgentGraph } from "../../src/index.js";
import { turns } from "../support/async.js";
import { DURABILITIES, type Durability } from "../support/crashing-thread.js";
import { deferred } from "../support/deferred.js";
import { replaceMethods } from "../support/internals.js";
import { calls, FunctionModel } from "../support/models.js";
import { SAVERS, type SaverKind } from "../support/savers.js";
import { inThread, pairedScript, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const config = inThread("1");

/** A database whose writes wait while it is closed. */
function slowSaver(saver: BaseCheckpointSaver) {
  let gate = deferred();
  gate.resolve();
  const writes = { begun: 0, ended: 0 };
  const slowly =
    <Given extends unknown[], Result>(write: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      writes.begun += 1;
      await gate.promise;
      const result = await write(...given);
      writes.ended += 1;
      return result;
    };
  const slow = replaceMethods(saver, {
    put: slowly<Parameters<typeof saver.put>, Awaited<ReturnType<typeof saver.put>>>(saver.put.bind(saver)),
    putWrites: slowly<Parameters<typeof saver.putWrites>, void>(saver.putWrites.bind(saver)),
  });
  const close = (): void => {
    gate = deferred();
  };
  return { slow, writes, close, open: () => gate.resolve() };
}

type Graph = ReturnType<typeof createAgentGraph>;
type Options = typeof config & { durability: Durability; signal: AbortSignal };

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}

/** Each way to run a turn. */
const WAYS: Readonly<Record<string, (graph: Graph, options: Options) => Promise<unknown>>> = {
  invoke: (graph, options) => graph.invoke(user("go"), options),
  stream: async (graph, options) => drain(await graph.stream(user("go"), options)),
  "streamEvents v2": (graph, options) =>
    drain(graph.streamEvents(user("go"), { ...options, version: "v2" }) as never),
  "streamEvents v3": async (graph, options) =>
    drain((await graph.streamEvents(user("go"), { ...options, version: "v3" } as never)) as never),
  "stream with a middleware": async (graph, options) => {
    const passOn = agentMiddleware(async (_, next) => next());
    await drain(await graph.stream(user("go"), { ...options, middleware: [passOn] }));
  },
  timeout: (graph, { signal, ...options }) => {
    vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(signal);
    return graph.invoke(user("go"), { ...options, timeout: 60_000 });
  },
};

/** A run with two calls. One has finished, and the database is closed before its result can be saved. */
async function openRun({ open }: SaverKind, options: Partial<Parameters<typeof createAgentGraph>[0]> = {}) {
  const { connect } = await open();
  const database = slowSaver(connect());
  const probe = createProbe();
  const tools = [probe.deaf, probe.heedful];
  const model = new FunctionModel(() => calls(["deaf", {}, "a"], ["heedful", {}, "b"]));
  const graph = createAgentGraph({ model, tools, checkpointer: database.slow, ...options });
  const abort = new AbortController();
  /** Starts the run, and returns when one call has finished and the other waits. */
  const begin = async (
    start: (graph: Graph, options: Options) => Promise<unknown>,
    durability: Durability,
  ) => {
    let isTold = false;
    const told = start(graph, { ...config, durability, signal: abort.signal }).then(
      () => undefined,
      (error: unknown) => error,
    );
    void told.then(() => {
      isTold = true;
    });
    await probe.hasBegun(2);
    database.close();
    probe.release();
    await expect.poll(() => probe.ends).toHaveLength(1);
    await turns();
    return { told, isTold: () => isTold };
  };
  const next = () =>
    createAgentGraph({ model: new FunctionModel(() => "fine"), tools, checkpointer: connect() });
  return { ...database, begin, abort, next, graph };
}

const [MEMORY] = SAVERS as [SaverKind];
const isSlow = process.env["SLOW_TESTS"] === "1";
const CASES = SAVERS.filter(({ isThere }) => isThere)
  .flatMap((kind) =>
    DURABILITIES.flatMap((durability) =>
      Object.keys(WAYS).map((way) => ({ kind, title: kind.title, durability, way })),
    ),
  )
  .filter((_, index) => isSlow || index % 4 === 0);

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("The caller of a run that is aborted", () => {
  it.each(CASES)(
    "is told when all is saved: $way, $title, $durability",
    async ({ kind, durability, way }) => {
      const { begin, abort, open, writes, next } = await openRun(kind);
      const { told, isTold } = await begin(WAYS[way] as never, durability);
      abort.abort();
      await turns();
      expect(isTold()).toBe(false);
      expect(writes.begun).toBeGreaterThan(writes.ended);
      open();
      expect(await told).toMatchObject({ name: "AbortError" });
      const { begun } = writes;
      expect(writes.ended).toBe(begun);
      expect(pairedScript(await next().invoke(user("next"), { ...config, durability }))).toEqual([
        "human: go",
        "ai> deaf heedful",
        "tool: deaf done -",
        expect.stringMatching(/^tool! Tool call heedful/),
        "human: next",
        "ai: fine",
      ]);
      await turns();
      expect(writes.begun).toBe(begun);
    },
  );

  it("is told when all is saved, if it cancels a stream", async () => {
    const { begin, open, writes } = await openRun(MEMORY);
    let cancel = async () => {};
    const start = async (graph: Graph, { signal: _, ...options }: Options) => {
      const stream = await graph.stream(user("go"), options);
      cancel = () => stream.cancel();
    };
    await begin(start, "async");
    let isTold = false;
    const cancelled = cancel().then(() => {
      isTold = true;
    });
    await turns();
    expect(isTold).toBe(false);
    open();
    await cancelled;
    expect(writes.ended).toBe(writes.begun);
  });

  it("is told after five seconds if the database does not answer, and the next run waits for it", async () => {
    const { begin, abort, open, graph } = await openRun(MEMORY);
    const { told, isTold } = await begin(WAYS["invoke"] as never, "async");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    abort.abort();
    await vi.advanceTimersByTimeAsync(4_999);
    await turns();
    expect(isTold()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await told).toMatchObject({ name: "AbortError" });
    vi.useRealTimers();
    let hasRun = false;
    const next = graph.updateState(config, user("next"), "model").then(() => {
      hasRun = true;
    });
    await turns();
    expect(hasRun).toBe(false);
    open();
    await next;
  });

  it("hears the reason of its abort", async () => {
    const { begin, abort, open } = await openRun(MEMORY);
    const { told } = await begin(WAYS["stream"] as never, "async");
    abort.abort(new Error("No time."));
    open();
    expect(await told).toMatchObject({ message: "No time." });
  });
});
