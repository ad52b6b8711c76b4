/** The lock of a thread that several processes share. Two graphs with savers and pools of their own are two processes. */

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type AgentGraphOptions,
  createAgentGraph,
  postgresThreadLock,
  type ThreadLock,
} from "../../src/index.js";
import { turns } from "../support/async.js";
import { deferred } from "../support/deferred.js";
import { calls, FunctionModel } from "../support/models.js";
import { DATABASE_URL } from "../support/savers.js";
import { inThread, pairedMessagesOf, pairedScript, script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe("A run with a lock", () => {
  const lockedBy = (acquire: ThreadLock["acquire"]) =>
    createAgentGraph({ model: "offline:", checkpointer: new MemorySaver(), concurrentRuns: { acquire } });

  /** Says what happens to the lock and to the thread, in order. */
  function recorded({ fail }: { readonly fail?: Error } = {}) {
    const steps: string[] = [];
    class Saver extends MemorySaver {
      override async put(...given: Parameters<MemorySaver["put"]>) {
        const saved = await super.put(...given);
        steps.push("saved");
        return saved;
      }
    }
    const lock: ThreadLock = {
      acquire: async (threadId) => {
        if (fail !== undefined) throw fail;
        steps.push(`acquired ${threadId}`);
        return async () => void steps.push("released");
      },
    };
    const model = new FunctionModel(({ index }) => (index === 1 ? new Error("no") : "Hello."));
    const graph = createAgentGraph({ model, checkpointer: new Saver(), concurrentRuns: lock });
    return { graph, steps };
  }

  it("holds it until its last write is saved", async () => {
    const { graph, steps } = recorded();
    await graph.invoke(user("one"), inThread("1"));
    expect(steps[0]).toBe("acquired 1");
    expect(steps.at(-1)).toBe("released");
    expect(steps.filter((step) => step !== "saved")).toHaveLength(2);
    expect(steps.length).toBeGreaterThan(3);
  });

  it("asks for it one run after the other, also after a failure", async () => {
    const { graph, steps } = recorded();
    const runs = numbers(4).map((index) => graph.invoke(user(`${index}`), inThread("1")));
    const outcomes = await Promise.allSettled(runs);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    const order = steps.filter((step) => step !== "saved");
    expect(order).toEqual(numbers(4).flatMap(() => ["acquired 1", "released"]));
  });

  it("has it for an update of the state too", async () => {
    const { graph, steps } = recorded();
    await graph.updateState(inThread("1"), { messages: user("one").messages });
    expect(steps).toEqual(["acquired 1", "saved", "released"]);
  });

  it("writes nothing if it does not get it", async () => {
    const { graph, steps } = recorded({ fail: new Error("no lock") });
    await expect(graph.invoke(user("one"), inThread("1"))).rejects.toThrow("no lock");
    await expect(graph.invoke(user("two"), inThread("1"))).rejects.toThrow("no lock");
    expect(steps).toEqual([]);
  });

  it("writes nothing if the lock gives no function, and says so", async () => {
    const checkpointer = new MemorySaver();
    const concurrentRuns = { acquire: async () => ({ release: () => {} }) } as never;
    const graph = createAgentGraph({ model: "offline:", checkpointer, concurrentRuns });
    await expect(graph.invoke(user("one"), inThread("1"))).rejects.toThrow(
      /Expected `concurrentRuns.acquire\(\)` to be the function that gives the lock back, got `{/,
    );
    expect(checkpointer.storage).toEqual({});
  });

  it("does not wait for a lock that ignores the abort, and gives it back if it comes", async () => {
    const controller = new AbortController();
    const lock = deferred<() => void>();
    const released = deferred();
    const graph = lockedBy(() => {
      setTimeout(() => controller.abort(new Error("stopped")), 0);
      return lock.promise;
    });
    const run = graph.invoke(user("one"), { ...inThread("1"), signal: controller.signal });
    await expect(run).rejects.toThrow("stopped");
    lock.resolve(() => released.resolve());
    await released.promise;
  });

  it("gives up a lock that does not answer when it is given back", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const asked = deferred();
    const release = () => {
      asked.resolve();
      return new Promise<void>(() => {});
    };
    const graph = lockedBy(async () => release);
    const given = expect(graph.invoke(user("one"), inThread("1"))).rejects.toThrow(
      "The lock of the thread has not answered in time.",
    );
    await asked.promise;
    await vi.advanceTimersByTimeAsync(30_000);
    await given;
    expect((await graph.getState(inThread("1"))).values.messages).toHaveLength(2);
  });

  it("ends when it is lost, starts no more tools, and loses no result", async () => {
    let lose: Parameters<ThreadLock["acquire"]>[2];
    const lock: ThreadLock = {
      acquire: async (_id, _signal, onLost) => {
        lose = onLost;
        return () => {};
      },
    };
    const { fast, deaf, runs, hasBegun, release } = createProbe();
    const model = new FunctionModel(({ index }) => (index === 0 ? calls(["deaf"], ["fast"]) : "Hello."));
    const options = { model, tools: [fast, deaf], checkpointer: new MemorySaver(), concurrentRuns: lock };
    const graph = createAgentGraph(options);
    const run = graph.invoke(user("go"), { ...inThread("1"), maxConcurrency: 1 });
    const failed = expect(run).rejects.toMatchObject({
      code: "THREAD_MOVED",
      message: expect.stringContaining(
        "The lock of the thread `1` was lost while its run went on: gone away",
      ),
    });
    await hasBegun(1);
    lose?.(new Error("gone away"));
    await failed;
    expect(runs).toEqual(["deaf:-"]);
    release();
    await turns();
    expect(script((await graph.invoke(user("more"), inThread("1"))).messages)).toEqual([
      "human: go",
      "ai> deaf fast",
      "tool: deaf done -",
      expect.stringContaining("was not run"),
      "human: more",
      "ai: Hello.",
    ]);
  });

  it("refuses what is no lock, by name", () => {
    const make = () => createAgentGraph({ model: "offline:", concurrentRuns: { lock: 1 } as never });
    expect(make).toThrow(/Expected `concurrentRuns` to be `enqueue`, `reject` or a lock of threads/);
    for (const pool of [undefined, "postgres://127.0.0.1", {}])
      expect(() => postgresThreadLock(pool as never)).toThrow(
        /Expected `pool` to be a `Pool` of the package `pg`/,
      );
  });
});

describe.skipIf(DATABASE_URL === undefined)("The lock of PostgreSQL", () => {
  /** Other tests use the server at the same time, so its connections have a name. */
  const application_name = `thread-lock-${randomUUID()}`;
  const poolOf = (max: number) => {
    const pool = new pg.Pool({ connectionString: DATABASE_URL, max, application_name });
    onTestFinished(() => pool.end());
    return pool;
  };
  const never = new AbortController().signal;
  const nextThread = () => randomUUID();

  /** Two graphs of two processes, and what makes the server end the connections of their locks. */
  async function openProcesses(options: Partial<AgentGraphOptions> = {}) {
    const schema = `lock_${process.pid}`;
    const graphs = numbers(2).map(() => {
      const checkpointer = PostgresSaver.fromConnString(DATABASE_URL ?? "", { schema });
      onTestFinished(() => checkpointer.end());
      const concurrentRuns = postgresThreadLock(poolOf(10));
      const graph = createAgentGraph({ model: "offline:", checkpointer, concurrentRuns, ...options });
      return { checkpointer, graph };
    });
    const [first, second] = graphs;
    if (first === undefined || second === undefined) throw new Error("Expected two processes.");
    await first.checkpointer.setup();
    return [first, second] as const;
  }
  const breakConnections = (pool: pg.Pool) =>
    pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = '${application_name}' AND pid <> pg_backend_pid()`,
    );

  const countWaiting = async (pool: pg.Pool) => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = '${application_name}' AND wait_event_type = 'Lock'`,
    );
    return rows.length;
  };

  it("lets no run of two processes be refused", async () => {
    const id = nextThread();
    const graphs = await openProcesses();
    const texts = numbers(20).map((index) => `message ${index}`);
    const run = (text: string, index: number) => graphs[index % 2]?.graph.invoke(user(text), inThread(id));
    await Promise.all(texts.map(run));
    const { values } = await graphs[0].graph.getState(inThread(id));
    const said = pairedMessagesOf(values).flatMap(({ type, text }) => (type === "human" ? text : []));
    expect(said.toSorted()).toEqual(texts.toSorted());
  });

  it("gives it in the order of the requests, and to other threads at once", async () => {
    const pool = poolOf(10);
    const lock = postgresThreadLock(pool);
    const id = nextThread();
    const first = await lock.acquire(id, never);
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (const index of numbers(3)) {
      const taken = async (release: Awaited<ReturnType<typeof lock.acquire>>) => {
        order.push(index);
        await release();
      };
      waiting.push(lock.acquire(id, never).then(taken));
      await expect.poll(() => countWaiting(pool)).toBe(index + 1);
    }
    await (await lock.acquire(nextThread(), never))();
    expect(order).toEqual([]);
    await first();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2]);
  });

  it("is held and awaited for longer than the database lets a session be idle or a statement wait", async () => {
    const limits = ["statement_timeout", "lock_timeout", "idle_session_timeout", "transaction_timeout"];
    const options = limits.map((name) => `-c ${name}=100`).join(" ");
    const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2, options });
    onTestFinished(() => pool.end());
    pool.on("error", () => {});
    const lock = postgresThreadLock(pool);
    const id = nextThread();
    const lost = vi.fn();
    const release = await lock.acquire(id, never, lost);
    const waiting = lock.acquire(id, never);
    await delay(500);
    await release();
    await (await waiting)();
    expect(lost).not.toHaveBeenCalled();
  });

  it("is not waited for by whoever only tries, and keeps no connection then", async () => {
    const pool = poolOf(2);
    const lock = postgresThreadLock(pool);
    const id = nextThread();
    const release = await lock.acquire(id, never);
    expect(await lock.tryAcquire?.(id, never)).toBeUndefined();
    expect(pool.idleCount).toBe(1);
    await release();
    const taken = await lock.tryAcquire?.(id, never);
    expect(await lock.tryAcquire?.(id, never)).toBeUndefined();
    await taken?.();
    await (await lock.acquire(id, never))();
  });

  it("ends the wait at the abort, and the next one gets it", async () => {
    const lock = postgresThreadLock(poolOf(3));
    const id = nextThread();
    const release = await lock.acquire(id, never);
    const abort = new AbortController();
    const waiting = lock.acquire(id, abort.signal);
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await release();
    await (await lock.acquire(id, never))();
  });

  it("is free when the connection of its holder breaks", async () => {
    const pool = poolOf(3);
    const lock = postgresThreadLock(pool);
    const id = nextThread();
    const release = await lock.acquire(id, never);
    await breakConnections(pool);
    const next = await lock.acquire(id, never);
    await next();
    await expect(release()).resolves.toBeUndefined();
  });

  it("whose connection breaks ends the run, which starts no more tools and loses no result", async () => {
    const { fast, deaf, runs, hasBegun, release } = createProbe();
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.text === "go" ? calls(["deaf"], ["fast"]) : "Hello.",
    );
    const options = { model, tools: [fast, deaf], store: new InMemoryStore() };
    const [first, second] = await openProcesses(options);
    const thread = inThread(nextThread());
    const job = user("go", "job-1");
    const broken = first.graph.invoke(job, { ...thread, maxConcurrency: 1 });
    const failed = expect(broken).rejects.toMatchObject({ code: "THREAD_MOVED" });
    await hasBegun(1);
    await breakConnections(poolOf(1));
    // The retry of the job, in the other process.
    const { messages } = await second.graph.invoke(job, thread);
    expect(script(messages).slice(2)).toEqual([
      expect.stringContaining("may or may not have taken effect"),
      "tool: fast done -",
      "ai: Hello.",
    ]);
    release();
    await failed;
    await turns();
    expect(runs).toEqual(["deaf:-", "fast:-"]);
    const lines = pairedScript(await second.graph.invoke(user("more"), thread));
    expect(lines[2]).toBe("tool: deaf done -");
    expect(lines).toHaveLength(7);
  });

  it("says so if the pool has no connection left, and leaves nothing behind", async () => {
    const pool = poolOf(1);
    const lock = postgresThreadLock(pool);
    const id = nextThread();
    const release = await lock.acquire(id, never);
    await expect(lock.acquire(nextThread(), never)).rejects.toThrow(/all connections of the pool are in use/);
    await release();
    await (await lock.acquire(id, never))();
    expect(pool.waitingCount).toBe(0);
  }, 20_000);
});
