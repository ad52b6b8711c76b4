/** The doctor and the inspector's list, over a database in which healthy runs go on all the time. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { applyRepair, createGraphStore, diagnoseThread, planRepair } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { memoryReceipt } from "../doctor/repair.js";
import type { AnyGraph } from "../support/agent-kinds.js";
import { calls, FunctionModel } from "../support/models.js";
import { SAVERS } from "../support/savers.js";
import { strictViolations } from "../support/strict-check.js";
import { inThread, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

const LOOKS = 20 * Number(process.env["LAW_RUNS"] ?? 1);
const THREADS = 6;

const pick = <One>(...from: readonly One[]): One => from[Math.floor(Math.random() * from.length)] as One;
/** Others get to work this often. */
const meanwhile = async () => {
  for (let turn = pick(1, 5, 20, 80); turn > 0; turn -= 1) await new Promise(setImmediate);
};

function createWorld() {
  const model = new FunctionModel(async ({ messages }) => {
    await meanwhile();
    const isAsked = messages.at(-1)?.type === "human" || Math.random() < 0.3;
    return isAsked ? calls(...Array.from({ length: pick(1, 2, 3) }, () => ["look"] as const)) : "done";
  });
  const look = makeTool("look", async () => {
    await meanwhile();
    return "seen";
  });
  return { model, tools: [look] };
}

const AGENTS = {
  createAgent: (given) => createAgent(given as never).graph,
  createAgentGraph: (given) => createAgentGraph(given as never),
} satisfies Record<string, (given: object) => object>;

describe.each(SAVERS.filter(({ title, isThere }) => isThere && /Sqlite|Postgres/.test(title)))(
  "over $title",
  ({ open }) => {
    it.each(Object.keys(AGENTS) as (keyof typeof AGENTS)[])(
      `${LOOKS} looks at running threads of %s find no fault, and repairs do no harm`,
      async (name) => {
        const { connect } = await open();
        const world = createWorld();
        const graphOver = (checkpointer: BaseCheckpointSaver) =>
          AGENTS[name]({ ...world, checkpointer }) as unknown as AnyGraph;
        const graph = graphOver(connect());
        const seen = graphOver(connect());
        let isOver = false;
        const ended: unknown[] = [];
        const threads = Array.from({ length: THREADS }, (_, worker) => `${worker}-0`);
        const work = async (worker: number) => {
          for (let turn = 0; !isOver; turn += 1) {
            // A long history would only slow down the looks.
            const id = `${worker}-${Math.floor(turn / 3)}`;
            threads[worker] = id;
            const running = graph.invoke(user("go") as never, inThread(id));
            ended.push(await running.catch((error: unknown) => error));
            await meanwhile();
          }
        };
        const workers = Array.from({ length: THREADS }, (_, worker) => work(worker));
        const store = createGraphStore({ graph: seen });
        const inspect = createInspector({ threads: () => store, isProtected: true });
        const judged = { sound: 0, skipped: 0 };
        try {
          for (let look = 0; look < LOOKS; look += 1) {
            await meanwhile();
            const ref = { threadId: pick(...threads), namespace: "" };
            const { outcome, findings } = diagnoseThread(await store.read(ref));
            expect(findings.filter(({ severity }) => severity !== "info")).toEqual([]);
            expect(outcome).toMatch(/^(?:sound|skipped)$/);
            judged[outcome as keyof typeof judged] += 1;
            const list = await (await inspect(new Request("http://localhost/tether"))).text();
            const chips = [...list.matchAll(/class="chip ([a-z]+)">([^<]*)/g)].map(
              ([, tone, text]) => `${tone}: ${text}`,
            );
            expect(chips.filter((chip) => /^(?:bad|warning)/.test(chip))).toEqual([]);
            const place = { store, ref };
            const { kind } = await applyRepair(place, await planRepair(place), { receipt: memoryReceipt() });
            expect(kind).toMatch(/^(?:nothing|skipped)$/);
          }
        } finally {
          isOver = true;
          await Promise.all(workers);
        }
        expect(judged.skipped).toBeGreaterThan(0);
        expect(ended.filter((one) => one instanceof Error)).toEqual([]);
        expect(world.model.refused).toEqual([]);
        for (const id of threads) {
          const { values } = await seen.getState(inThread(id));
          expect(strictViolations(values.messages)).toEqual([]);
        }
      },
    );
  },
);
