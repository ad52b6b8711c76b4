/** Processes that are killed in the middle of a turn, with the thread in SQLite. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Entry } from "../../test/crash/job.js";
import { runCrashes } from "../../test/crash/run-crashes.js";
import { fault, type Outcome, PASS, type Suite } from "../suite.js";

const THREADS = 5;
const KILLS = 2;

export const kills: Suite = {
  name: "kills",
  title: "killed processes",
  passes:
    "A process is killed twice at a moment of its turn, and another one goes on with the thread in SQLite. The model gets a valid history, no tool whose result was saved runs again, and nothing that was saved or shown is lost.",
  applies: ({ makeGraph }) => makeGraph !== undefined,
  open: async (adapter) => {
    const folder = mkdtempSync(join(tmpdir(), "tether-conformance-"));
    const agent = {
      module: fileURLToPath(new URL(`../adapters/${adapter.name}.ts`, import.meta.url)),
      bundles: fileURLToPath(new URL("../node_modules/.cache/", import.meta.url)),
    };
    return {
      cases: Array.from({ length: THREADS }, (_, thread) => ({
        id: `thread ${thread + 1}`,
        run: async (): Promise<Outcome> => {
          let ledger: readonly Entry[] = [];
          const { faults } = await runCrashes({
            database: { kind: "sqlite", file: join(folder, `${thread}.sqlite`) },
            durability: "async",
            kills: KILLS,
            random: randomOf(thread + 1),
            timedShare: 0,
            agent,
            onFault: (entries) => {
              ledger = entries;
            },
          });
          const [first] = faults;
          if (first === undefined) return PASS;
          const more = faults.length > 1 ? ` And ${faults.length - 1} more.` : "";
          return fault(`${first}.${more}`, ledger.map(lineOf), faults);
        },
      })),
      concurrency: 2,
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
};

const lineOf = ({ boot, kind, ...rest }: Entry) => `${boot} ${kind} ${JSON.stringify(rest).slice(0, 160)}`;

/** The same numbers for the same seed: mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
