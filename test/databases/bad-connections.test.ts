/**
 * A database whose connections fail in the middle of turns: they are silent, slow, or cut in the middle of a packet, or
 * the server is stopped and started. No thread is stuck, and what the database has confirmed is in the thread.
 *
 *     SLOW_TESTS=1 npm run with-postgres -- npx vitest run test/databases/bad-connections.test.ts
 *
 * `ROUNDS` is the number of faults for each row of the table that it prints, and `SEED` chooses other moments.
 *
 * `test/threads/langgraph/bounded.test.ts` and `test/graph/runs/thread-moved.test.ts` are about a store that never answers.
 */

import { spawnSync } from "node:child_process";
import { Console } from "node:console";
import { once } from "node:events";
import { mkdtempSync, rmSync, statfsSync, writeFileSync, writeSync } from "node:fs";
import { connect as connectTo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { openPostgresServer } from "../../scripts/with-postgres.js";
import { createAgentGraph } from "../../src/index.js";
import { DURABILITIES, type Durability } from "../support/crashing-thread.js";
import { FunctionModel } from "../support/models.js";
import { DATABASE_URL } from "../support/savers.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

const SEED = Number(process.env["SEED"] ?? 1);
const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const THREADS = 6;
const TOOL_ROUNDS = 2;
/** What runs longer is stuck. The bound of a database that does not answer is 30 seconds, and 5 after an abort. */
const LONGEST_TURN_MS = 120_000;
const LONGEST_TEST_MS = 900_000;

const CHANNELS = ["full", "delta"] as const;
const FAULTS = ["silent", "slow", "cut"] as const;
type Fault = (typeof FAULTS)[number];

/** Numbers from 0 to 1 that only the seed decides. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Stands between a pool and its database. */
async function openProxy(target: string, random: () => number) {
  const { hostname, port } = new URL(target);
  let mode: Fault | "pass" = "pass";
  let passed = 0;
  let cutsLeft = 0;
  let arming: { left: number; readonly begin: () => void } | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connectTo(Number(port), hostname);
    // What was swallowed once never continues.
    let isSilent = false;
    const end = () => {
      client.destroy();
      database.destroy();
    };
    const pipe = (from: Socket, to: Socket) => {
      let last = Promise.resolve();
      const forward = (packet: Buffer) => {
        passed += 1;
        if (arming !== undefined && --arming.left === 0) arming.begin();
        isSilent ||= mode === "silent";
        if (isSilent) return;
        if (mode === "cut" && cutsLeft > 0) {
          cutsLeft -= 1;
          const half = packet.subarray(0, Math.ceil(random() * packet.length) - 1);
          last = last.then(() => void to.end(half, end));
          return;
        }
        const time = mode === "slow" ? random() * 60 : 0;
        last = last.then(async () => {
          if (time > 0) await delay(time);
          to.write(packet);
        });
      };
      sockets.add(from);
      from.on("data", forward);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        // Nobody hears of the end of a connection if the network is silent.
        if (!isSilent || from === client) last.then(end);
      });
    };
    pipe(client, database);
    pipe(database, client);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url: url.href,
    passed: () => passed,
    /** Resolves when this many packets have passed, and the fault has begun. */
    arm: (packets: number, begin: () => void) =>
      new Promise<void>((resolve) => {
        const both = () => {
          arming = undefined;
          begin();
          resolve();
        };
        arming = { left: packets, begin: both };
      }),
    disarm: () => {
      arming = undefined;
    },
    set: (next: Fault | "pass") => {
      mode = next;
      // Some connections are cut, and others not.
      cutsLeft = 1 + Math.floor(random() * 2 * THREADS);
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

type Proxy = Awaited<ReturnType<typeof openProxy>>;

/** What a database has confirmed. */
interface Confirmed {
  /** Texts in values of saved checkpoints. */
  readonly inCheckpoints: Set<string>;
  /** Texts in the writes of tasks, with the checkpoint they were written at. */
  readonly besideCheckpoints: [text: string, checkpointId: string][];
}

/** Notes what is confirmed at the connection itself, as the library writes past the methods of the checkpointer. */
function noteConfirmed(client: pg.PoolClient, { inCheckpoints, besideCheckpoints }: Confirmed): void {
  const query: (...given: unknown[]) => unknown = client.query.bind(client);
  let written: (readonly unknown[])[] = [];
  client.query = (...given: unknown[]): never => {
    const [text, values] = given;
    if (String(text).startsWith("BEGIN")) written = [];
    if (Array.isArray(values)) written.push(values);
    const answer = query(...given);
    if (text !== "COMMIT") return answer as never;
    const rows = written;
    return (answer as Promise<unknown>).then((result) => {
      for (const row of rows) {
        const bytes = row.find((value) => value instanceof Uint8Array) as Uint8Array | undefined;
        // The rows of writes have a checkpoint, and those of values a version.
        for (const [found] of Buffer.from(bytes ?? [])
          .toString()
          .matchAll(TEXTS))
          if (row.length === 8) besideCheckpoints.push([found, String(row[2])]);
          else inCheckpoints.add(found);
      }
      return result;
    }) as never;
  };
}

/** What the agents below say and get. */
const TEXTS = /(?:result|call) of \w+/g;

let schemas = 0;

/** A checkpointer as `docs/production.md` opens it. */
async function openSaver(direct: string, through: string) {
  schemas += 1;
  const options = { schema: `tether_bad_${process.pid}_${schemas}` };
  const confirmed: Confirmed = { inCheckpoints: new Set(), besideCheckpoints: [] };
  const open = (address: string, notes: Confirmed) => {
    const saver = PostgresSaver.fromConnString(address, options);
    const pool: pg.Pool = Reflect.get(saver, "pool");
    const bounds = { connectionTimeoutMillis: 10_000, query_timeout: 30_000, keepAlive: true, max: 4 };
    Object.assign(pool.options, bounds);
    pool.on("error", () => {});
    pool.on("connect", (client) => {
      client.on("error", () => {});
      noteConfirmed(client, notes);
    });
    return { saver, pool };
  };
  const { saver: reader } = open(direct, { inCheckpoints: new Set(), besideCheckpoints: [] });
  await reader.setup();
  const { saver, pool } = open(through, confirmed);
  return { saver, reader, pool, confirmed };
}

/** An agent that calls two tools, twice, in each turn that begins with `go`. */
function createAgent(
  saver: BaseCheckpointSaver,
  messagesChannel: (typeof CHANNELS)[number],
  random: () => number,
) {
  const finished = new Set<string>();
  const model = new FunctionModel(({ messages }) => {
    const start = messages.findLastIndex(({ type }) => type === "human");
    const turn = /go (\w+)$/.exec(messages[start]?.text ?? "")?.[1];
    const round = messages.slice(start).filter(({ type }) => type === "ai").length;
    if (turn === undefined || round === TOOL_ROUNDS) return "done";
    const ids = [0, 1].map((index) => `${turn}_${round}_${index}`);
    const tool_calls = ids.map((id, index) => ({ id, name: index === 0 ? "first" : "second", args: { id } }));
    return new AIMessage({ content: ids.map((id) => `call of ${id}`).join(", "), tool_calls });
  });
  const tools = ["first", "second"].map((name) =>
    makeTool(
      name,
      async ({ id }) => {
        await delay(random() * 10);
        finished.add(id);
        return `result of ${id}`;
      },
      z.object({ id: z.string() }),
    ),
  );
  const graph = createAgentGraph({ model, tools, checkpointer: saver, messagesChannel });
  return { graph, model, finished };
}

interface Kind {
  readonly fault: string;
  readonly durability: Durability;
  readonly channel: (typeof CHANNELS)[number];
}

const emptyRow = ({ fault, durability, channel }: Kind) => ({
  ...{ fault, durability, channel },
  /** Faults that began during a turn, the runs of their turns, and how many of these ended with an error. */
  ...{ faults: 0, runs: 0, failed: 0 },
  tools: 0,
  confirmed: 0,
  /** Confirmed results that are not in the thread, because LangGraph had not saved the checkpoint they were written at. */
  noCheckpoint: 0,
  /** The same, because LangGraph had not saved the message with their calls. */
  noCall: 0,
  /** Confirmed results that are not in the thread, for no such reason. */
  lost: 0,
  /** The longest run, and the longest time from an abort to its end, in seconds. */
  ...{ longest: 0, longestAbort: 0 },
});
type Row = ReturnType<typeof emptyRow>;

/** Counts the results that the database has confirmed, and those that the threads do not have. */
async function count(row: Row, { graph, threads, finished, confirmed, saver }: Counted): Promise<void> {
  for (const thread of threads) {
    const { values } = await graph.getState(inThread(thread));
    const shown = new Set(pairedMessagesOf(values).map(({ text }) => text));
    const saved = new Set<string>();
    for await (const { checkpoint } of saver.list(inThread(thread))) saved.add(checkpoint.id);
    const isConfirmed = (text: string, isReached: (checkpointId: string) => boolean) =>
      confirmed.inCheckpoints.has(text) ||
      confirmed.besideCheckpoints.some(([found, at]) => found === text && isReached(at));
    for (const id of finished) {
      if (!id.startsWith(`${thread}_`)) continue;
      row.tools += 1;
      const result = `result of ${id}`;
      if (!isConfirmed(result, () => true)) continue;
      row.confirmed += 1;
      if (shown.has(result)) continue;
      if (!isConfirmed(result, (at) => saved.has(at))) row.noCheckpoint += 1;
      else if (!isConfirmed(`call of ${id}`, (at) => saved.has(at))) row.noCall += 1;
      else row.lost += 1;
    }
  }
}

interface Counted extends Pick<ReturnType<typeof createAgent>, "graph" | "finished"> {
  readonly threads: readonly string[];
  readonly confirmed: Confirmed;
  readonly saver: BaseCheckpointSaver;
}

const rows: Row[] = [];

/** Turns during which a fault begins and ends, and what the threads have then. */
async function play(
  kind: Kind & { readonly seed: number },
  database: string,
  begin: (proxy: Proxy) => void,
  heal: (proxy: Proxy) => void | Promise<void>,
): Promise<Row> {
  const { fault, durability, channel, seed } = kind;
  const random = randomFrom(SEED * 1_000 + seed);
  const proxy = await openProxy(database, random);
  const { saver, reader, pool, confirmed } = await openSaver(database, proxy.url);
  const { graph, model, finished } = createAgent(saver, channel, random);
  const threads = Array.from({ length: THREADS }, (_, index) => `t${index}`);
  const row = emptyRow(kind);
  const say = (text: string, thread: string, options: object = {}) =>
    graph.invoke(user(text), { ...inThread(thread), durability, ...options });
  /** Resolves with the error of a run, and fails if the run never ends. */
  const ended = async (run: Promise<unknown>, what: string) => {
    const start = Date.now();
    const over = new AbortController();
    const stuck = delay(LONGEST_TURN_MS, undefined, { signal: over.signal }).then(
      () => {
        throw new Error(`${what} is stuck.`);
      },
      () => {},
    );
    const error: unknown = await Promise.race([
      run.then(
        () => undefined,
        (reason: unknown) => reason,
      ),
      stuck,
    ]);
    over.abort();
    row.longest = Math.max(row.longest, (Date.now() - start) / 1_000);
    return error;
  };
  try {
    await Promise.all(threads.map((thread) => say(`go ${thread}_sound`, thread)));
    const before = proxy.passed();
    await Promise.all(threads.map((thread) => say(`go ${thread}_measured`, thread)));
    const packets = proxy.passed() - before;
    for (let round = 0; round < ROUNDS; round += 1) {
      const moment = 1 + Math.floor(random() * packets);
      const begun = proxy.arm(moment, () => {
        row.faults += 1;
        begin(proxy);
      });
      const runs = threads.map(async (thread, index) => {
        const run = new AbortController();
        let aborted: number | undefined;
        if (fault === "silent" && index % 2 === 0)
          void begun.then(() => {
            aborted = Date.now();
            run.abort();
          });
        const error = await ended(
          say(`go ${thread}_${round}`, thread, { signal: run.signal }),
          `A run of ${thread}`,
        );
        if (aborted !== undefined)
          row.longestAbort = Math.max(row.longestAbort, (Date.now() - aborted) / 1_000);
        row.runs += 1;
        if (error !== undefined) row.failed += 1;
      });
      await Promise.all(runs);
      proxy.disarm();
      await heal(proxy);
      await Promise.all(
        threads.map(async (thread) => {
          expect(await ended(say("next", thread), `The next run of ${thread}`)).toBeUndefined();
        }),
      );
    }
    await count(row, { graph, threads, finished, confirmed, saver: reader });
    rows.push(row);
    expect(model.refused).toEqual([]);
    return row;
  } finally {
    proxy.close();
    void pool.end().catch(() => {});
    await reader.end();
  }
}

const CASES = CHANNELS.flatMap((channel) =>
  DURABILITIES.map((durability, index) => ({
    channel,
    durability,
    seed: index + (channel === "full" ? 0 : 10),
  })),
);

function expectSound(row: Row): void {
  expect(row.faults, JSON.stringify(row)).toBeGreaterThan(0);
  expect(row.lost, JSON.stringify(row)).toBe(0);
  if (row.durability === "sync") expect(row.noCheckpoint + row.noCall, JSON.stringify(row)).toBe(0);
}

/** Each way to fill the disk of a SQLite database, but for some random part, and to free it again. */
const DISKS = {
  "a limit of pages": ({ saver, random, pages }: Disk) => {
    const size = Number(saver.db.pragma("page_count", { simple: true }));
    saver.db.pragma(`max_page_count = ${size + Math.floor(random() * pages)}`);
    return () => void saver.db.pragma("max_page_count = 1000000");
  },
  "a small disk": ({ folder, random, pages }: Disk) => {
    const { bavail, bsize } = statfsSync(folder);
    const left = Math.floor(random() * pages * 16_384);
    writeFileSync(join(folder, "filler"), Buffer.alloc(Math.max(0, bavail * bsize - left)));
    return () => rmSync(join(folder, "filler"));
  },
};

interface Disk {
  readonly saver: SqliteSaver;
  readonly folder: string;
  readonly random: () => number;
  /** The most that is left. */
  readonly pages: number;
}

/** What a SQLite database has is what it has confirmed. */
function readConfirmed({ db }: SqliteSaver, { inCheckpoints, besideCheckpoints }: Confirmed): void {
  const read = (sql: string) => db.prepare(sql).all() as { id: string; value: Buffer | string }[];
  for (const { value } of read("SELECT checkpoint_id AS id, checkpoint AS value FROM checkpoints"))
    for (const [text] of value.toString().matchAll(TEXTS)) inCheckpoints.add(text);
  for (const { id, value } of read("SELECT checkpoint_id AS id, value FROM writes"))
    for (const [text] of value.toString().matchAll(TEXTS)) besideCheckpoints.push([text, id]);
}

const isSkipped = process.env["SLOW_TESTS"] !== "1" || DATABASE_URL === undefined;

describe.skipIf(isSkipped)("Needs SLOW_TESTS=1 and DATABASE_URL:", () => {
  afterAll(() => {
    const write = (chunk: Buffer, _: string, done: () => void) => {
      writeSync(2, chunk);
      done();
    };
    new Console(new Writable({ write })).table(rows);
  });

  describe.each(FAULTS)("with a database whose connections are %s,", (fault) => {
    it.concurrent.each(CASES)(
      "no thread is stuck, and nothing that was confirmed is lost ($durability, $channel)",
      async (kind) => {
        const row = await play(
          { ...kind, fault },
          DATABASE_URL ?? "",
          (proxy) => proxy.set(fault),
          (proxy) => proxy.set("pass"),
        );
        expectSound(row);
        if (fault === "slow") expect(row.failed).toBe(0);
      },
      LONGEST_TEST_MS,
    );
  });

  it.each(CASES)(
    "with a database that is stopped and started, no thread is stuck, and nothing that was confirmed is lost ($durability, $channel)",
    async (kind) => {
      const server = await openPostgresServer();
      try {
        let stopped: Promise<void> | undefined;
        const row = await play(
          { ...kind, fault: "stopped" },
          server.url,
          () => {
            stopped = server.stop();
          },
          async () => {
            // If the turns were over before, it is stopped between turns.
            await (stopped ?? server.stop());
            stopped = undefined;
            await server.start();
          },
        );
        expectSound(row);
      } finally {
        await server.close();
      }
    },
    LONGEST_TEST_MS,
  );

  describe.each(["a limit of pages", "a small disk"] as const)("with SQLite on %s that is full,", (fault) => {
    it.for(CASES)("nothing that was confirmed is lost ($durability, $channel)", async (kind, { skip }) => {
      const { durability, channel, seed } = kind;
      const folder = mkdtempSync(join(tmpdir(), "tether-full-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      if (fault === "a small disk") {
        const mounting = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]);
        skip(mounting.status !== 0, "Only root can mount a small disk.");
        onTestFinished(() => void spawnSync("umount", [folder]));
      }
      const saver = SqliteSaver.fromConnString(join(folder, "threads.sqlite"));
      onTestFinished(() => void saver.db.close());
      const random = randomFrom(SEED * 1_000 + seed);
      const { graph, model, finished } = createAgent(saver, channel, random);
      const confirmed: Confirmed = { inCheckpoints: new Set(), besideCheckpoints: [] };
      const row = emptyRow({ fault, durability, channel });
      const threads = ["t0", "t1"];
      const say = (text: string, thread: string) =>
        graph.invoke(user(text), { ...inThread(thread), durability });
      await Promise.all(threads.map((thread) => say(`go ${thread}_sound`, thread)));
      for (let round = 0; round < ROUNDS * 2; round += 1) {
        row.faults += 1;
        const free = DISKS[fault]({ saver, folder, random, pages: durability === "exit" ? 5 : 15 });
        for (const ended of await Promise.allSettled(
          threads.map((thread) => say(`go ${thread}_${round}`, thread)),
        )) {
          row.runs += 1;
          if (ended.status === "fulfilled") continue;
          row.failed += 1;
          // LangGraph joins the errors of a superstep.
          const errors: unknown[] = ended.reason.errors ?? [ended.reason];
          expect(errors.map(String).join()).toContain("full");
        }
        readConfirmed(saver, confirmed);
        free();
        await Promise.all(threads.map((thread) => say("next", thread)));
      }
      await count(row, { graph, threads, finished, confirmed, saver });
      rows.push(row);
      expect(model.refused).toEqual([]);
      expectSound(row);
    });
  });
});
