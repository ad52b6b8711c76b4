/** The agent of all workers, and what they write down. */

import { setTimeout as delay } from "node:timers/promises";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import pg from "pg";
import { z } from "zod";
import { createAgentGraph, postgresThreadLock } from "../../../src/index.js";
import { FunctionModel } from "../../support/models.js";
import { callIdsOf } from "../../support/strict-check.js";

export interface WorkerOrder {
  readonly name: string;
  readonly url: string;
  readonly ledger: string;
  readonly hasLock: boolean;
  readonly atOnce: number;
  /** How many times the model calls all tools before it answers. */
  readonly rounds: number;
  /** The longest time of a tool, in milliseconds. */
  readonly toolMs: number;
}

interface ToolEntry {
  readonly kind: "tool-start" | "tool-end";
  /** The same for each run of the same call. */
  readonly work: string;
  readonly isSafe: boolean;
}

export type FleetEntry =
  | ToolEntry
  | {
      readonly kind: "refused" | "failed" | "aborted" | "drained";
      readonly job: number;
      readonly text: string;
    }
  | { readonly kind: "bad-request"; readonly text: string };

export const RESULT = "result of ";
/** One of five cannot be repeated. */
const TOOLS = ["unsafe", "safe_1", "safe_2", "safe_3", "safe_4"];

/** The agent of a worker, and of the one who checks the threads at the end. */
export function openAgent(
  { url, hasLock, atOnce, rounds, toolMs }: WorkerOrder,
  note: (entry: FleetEntry) => void,
) {
  const pools: pg.Pool[] = [];
  const openPool = (max: number): pg.Pool => {
    const pool = outliving(new pg.Pool({ connectionString: url, max, connectionTimeoutMillis: 10_000 }));
    pools.push(pool);
    return pool;
  };
  const store = new PostgresStore({
    connectionOptions: { connectionString: url, max: 3 },
    ensureTables: false,
  });
  outliving(Reflect.get(Reflect.get(store, "core"), "pool"));
  const checkpointer = new PostgresSaver(openPool(atOnce));
  const model = new FunctionModel(({ messages }) => {
    const turn = messages.slice(messages.findLastIndex(({ type }) => type === "human"));
    // Messages of the user that follow one another are joined. The last of them is that of this turn.
    const job = turn[0]?.text.split("\n").at(-1) ?? "";
    const round = turn.filter((message) => callIdsOf(message).length > 0).length;
    for (const text of model.refused.splice(0)) note({ kind: "bad-request", text });
    model.requests.length = 0;
    if (round >= rounds) return answerOf(job);
    const tool_calls = TOOLS.map((name) => {
      const id = `${job}_${round}_${name}`.replaceAll(" ", "_");
      return { id, name, args: { work: id }, type: "tool_call" as const };
    });
    return new AIMessage({ content: "", tool_calls });
  });
  const tools = TOOLS.map((name) => {
    const isSafe = name !== "unsafe";
    return tool(
      async ({ work }) => {
        note({ kind: "tool-start", work, isSafe });
        await delay(Math.random() * toolMs);
        note({ kind: "tool-end", work, isSafe });
        return `${RESULT}${work}`;
      },
      {
        name,
        description: name,
        schema: z.object({ work: z.string() }),
        ...(isSafe && { metadata: { replay: "safe" } }),
      },
    );
  });
  const agent = createAgentGraph({
    model,
    tools,
    checkpointer,
    store,
    maxTokensBeforeSummary: 0,
    ...(hasLock && { concurrentRuns: postgresThreadLock(openPool(atOnce)) }),
  });
  const close = async (): Promise<void> => {
    await Promise.all([...pools.map((pool) => pool.end()), store.stop()]);
  };
  return { agent, checkpointer, pool: openPool(3), close };
}

export const answerOf = (job: string): string => `answer to ${job}`;
export const textOf = (job: number): string => `job ${job}`;

/** As `docs/production.md` says. */
function outliving(pool: pg.Pool): pg.Pool {
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
