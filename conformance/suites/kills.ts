/** Processes that are killed in the middle of a turn, with the thread in SQLite. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkLedger } from "../../test/crash/check-ledger.js";
import { type AgentSource, type Children, readLedger, withChildren } from "../../test/crash/children.js";
import type { Entry, Job } from "../../test/crash/job.js";
import { fault, type Outcome, PASS, type Suite } from "../suite.js";

/** A turn calls three tools twice. The process dies at the n-th of these operations. */
const MOMENTS: Readonly<Record<string, NonNullable<Job["killAt"]>>> = {
  "before the model is asked again": { operation: "model", count: 2 },
  "in the first words of a response": { operation: "chunk", count: 2 },
  "in the words of a later response": { operation: "chunk", count: 8 },
  "while a tool begins": { operation: "tool-start", count: 3 },
  "when one of three tools has ended": { operation: "tool-end", count: 1 },
  "when all tools have ended": { operation: "tool-end", count: 3 },
  "before a checkpoint": { operation: "put-start", count: 4 },
  "after a checkpoint": { operation: "put-end", count: 4 },
  "before the writes of a task": { operation: "writes-start", count: 5 },
  "after the writes of a task": { operation: "writes-end", count: 4 },
};
const NEXT = { "the user writes": "Are you there?", "the run goes on": null } as const;
const ROUNDS = 2;
const ROWS = 2;

export const kills: Suite = {
  name: "kills",
  passes:
    "A process is killed at a moment of its turn. Another one goes on with the thread in SQLite, after a new message or without one, and the user writes again. The model gets a valid history, no tool whose result was saved runs again, and nothing that was saved or shown is lost.",
  applies: ({ makeGraph }) => makeGraph !== undefined,
  open: async (adapter) => {
    const databases = mkdtempSync(join(tmpdir(), "tether-conformance-"));
    const { children, close } = await openChildren({
      module: fileURLToPath(new URL(`../adapters/${adapter.name}.ts`, import.meta.url)),
      bundles: fileURLToPath(new URL("../node_modules/.cache/", import.meta.url)),
    });
    const cases = Object.entries(MOMENTS).flatMap(([moment, killAt], index) =>
      Object.entries(NEXT).map(([next, text]) => ({
        id: `killed ${moment}, then ${next}`,
        run: async (): Promise<Outcome> => {
          const file = join(databases, `${index}-${text === null}.sqlite`);
          const ledger = `${file}.jsonl`;
          const thread = { database: { kind: "sqlite", file }, durability: "async", threadId: "1" } as const;
          const turn = { ...thread, rounds: ROUNDS, isSummarised: false, ledger };
          const jobs: readonly Job[] = [
            { ...turn, boot: 1, text: "What is new?", killAt },
            { ...turn, boot: 2, text, killAt: undefined },
            { ...turn, boot: 3, text: "Thank you.", killAt: undefined },
          ];
          const row = children.pop();
          if (row === undefined) throw new Error("Expected a row of processes for each case that runs.");
          try {
            for (const job of jobs) await row.run(job, undefined);
          } finally {
            children.push(row);
          }
          return judge(readLedger(ledger));
        },
      })),
    );
    return {
      cases,
      concurrency: ROWS,
      close: async () => {
        await close();
        rmSync(databases, { recursive: true });
      },
    };
  },
};

/** Rows of processes that load the implementation, until they are closed. */
async function openChildren(agent: AgentSource): Promise<{ children: Children[]; close(): Promise<void> }> {
  let close = () => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  let ended: Promise<void> = Promise.resolve();
  const children = await new Promise<Children[]>((resolve, reject) => {
    ended = withChildren(
      ROWS,
      (_folder, rows) => {
        resolve([...rows]);
        return closed;
      },
      agent,
    );
    ended.catch(reject);
  });
  return {
    children,
    close: () => {
      close();
      return ended;
    },
  };
}

function judge(ledger: readonly Entry[]): Outcome {
  const { faults } = checkLedger(ledger);
  const [first] = faults;
  if (first === undefined) return PASS;
  const more = faults.length > 1 ? ` And ${faults.length - 1} more.` : "";
  return fault(`${first}.${more}`, ledger.map(lineOf), faults);
}

const lineOf = ({ boot, kind, ...rest }: Entry) => `${boot} ${kind} ${JSON.stringify(rest).slice(0, 300)}`;
