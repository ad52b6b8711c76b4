/** Processes that are killed in the middle of a turn, with the thread in SQLite. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkLedger } from "../../test/crash/check-ledger.js";
import { type AgentSource, type Children, readLedger, withChildren } from "../../test/crash/children.js";
import type { Entry, Job, Moment } from "../../test/crash/job.js";
import { DASH, fault, type Outcome, PASS, type Suite } from "../suite.js";
import { lateCases } from "./late.js";

/** The first response comes after as many steps as the implementation likes. What is saved is counted from there on. */
const since = "model";
/** A turn calls three tools twice. */
const MOMENTS: Readonly<Record<string, Moment>> = {
  "in the first words of a response": { operation: "chunk", count: 2 },
  "when the response is saved beside a checkpoint": { operation: "writes-end", count: 1, since },
  "when the response is saved": { operation: "put-end", count: 1, since },
  "while the tools begin": { operation: "tool-start", count: 2 },
  "when one of three tools has ended": { operation: "tool-end", count: 1 },
  "when one result is saved": { operation: "writes-end", count: 2, since },
  "when two results are saved": { operation: "writes-end", count: 3, since },
  "when all tools have ended": { operation: "tool-end", count: 3 },
  "before the results are in a checkpoint": { operation: "put-start", count: 2, since },
  "when the results are in a checkpoint": { operation: "put-end", count: 2, since },
  "when the model is asked again": { operation: "model", count: 2 },
  "in the words of the second response": { operation: "chunk", count: 7 },
};
const NEXT = { "the user writes": "Are you there?", "the run goes on": null } as const;
const ROUNDS = 2;
const ROWS = 2;

export const kills: Suite = {
  name: "kills",
  passes:
    "A process is killed at a moment of its turn. Another one goes on with the thread in SQLite, after a new message or without one. The model gets a valid history, no tool whose result was saved runs again, and nothing that was saved or shown is lost. A result that comes after a cancel, and the text that was read before it, survive too.",
  applies: ({ makeGraph }) => makeGraph !== undefined,
  open: async (adapter) => {
    const databases = mkdtempSync(join(tmpdir(), "tether-conformance-"));
    const { children, close } = await openChildren({
      module: fileURLToPath(new URL(`../adapters/${adapter.name}.ts`, import.meta.url)),
      packages: fileURLToPath(new URL("..", import.meta.url)),
    });
    const cases = Object.entries(MOMENTS).flatMap(([moment, killAt], index) =>
      Object.entries(NEXT).map(([next, text]) => ({
        id: `killed ${moment}, then ${next}`,
        run: async (): Promise<Outcome> => {
          const file = join(databases, `${index}-${text === null}.sqlite`);
          const ledger = `${file}.jsonl`;
          const thread = { database: { kind: "sqlite", file }, durability: "async", threadId: "1" } as const;
          const turn = {
            ...thread,
            messagesChannel: "full",
            rounds: ROUNDS,
            isSummarised: false,
            ledger,
          } as const;
          const jobs: readonly Job[] = [
            { ...turn, boot: 1, text: "What is new?", killAt },
            { ...turn, boot: 2, text, killAt: undefined },
            ...(text === null ? [{ ...turn, boot: 3, text: "Thank you.", killAt: undefined }] : []),
          ];
          const row = children.pop();
          if (row === undefined) throw new Error("Expected a row of processes for each case that runs.");
          try {
            for (const job of jobs) await row.run(job, undefined);
          } finally {
            children.push(row);
          }
          return judge(readLedger(ledger), jobs);
        },
      })),
    );
    const late = adapter.makeGraph === undefined ? [] : lateCases(adapter.makeGraph);
    return {
      cases: [...cases, ...late],
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

/** Each process must have come to its end: the kill of the one that has a moment, and the result of the others. */
export function judge(ledger: readonly Entry[], jobs: readonly Pick<Job, "boot" | "killAt">[]): Outcome {
  const lastOf = (boot: number) => ledger.findLast((entry) => entry.boot === boot)?.kind ?? "nothing";
  // An agent that does not stream its model has no moment within a response.
  if (jobs.some(({ boot, killAt }) => killAt !== undefined && lastOf(boot) === "result")) return DASH;
  const unended = jobs.flatMap(({ boot, killAt }) => {
    const end = killAt === undefined ? "result" : "kill";
    const last = lastOf(boot);
    return last === end ? [] : `process ${boot} ended with \`${last}\` in place of its ${end}`;
  });
  const faults = [...checkLedger(ledger).faults, ...unended];
  const [first] = faults;
  if (first === undefined) return PASS;
  const more = faults.length > 1 ? ` And ${faults.length - 1} more.` : "";
  return fault(`${first}.${more}`, ledger.map(lineOf), faults);
}

const lineOf = ({ boot, kind, ...rest }: Entry) => `${boot} ${kind} ${JSON.stringify(rest).slice(0, 300)}`;
