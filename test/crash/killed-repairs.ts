/** Kills repairs of a deployment, and checks what its threads keep. */

import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readReceipt } from "../../src/doctor.js";
import type { AgentName } from "../support/deployment/agents.js";
import { type DeployedThread, deploy } from "../support/deployment/deploy.js";
import { driveLocally } from "../support/deployment/driver.js";
import {
  type Clinic,
  checkGoingOn,
  checkRepair,
  checkUndo,
  databaseOf,
  diagnoseAll,
  type Kept,
  keepAll,
  repairAll,
  undoAll,
} from "../support/deployment/prove.js";
import { copySqlite, openSqlite } from "../support/deployment/stored-deployment.js";
import { bundleProgram, Children, makeFolder } from "./children.js";
import type { RepairJob } from "./doctor-child.js";

const CHILD = fileURLToPath(new URL("doctor-child.ts", import.meta.url));

export interface Ward {
  /** How many writes a repair makes that is not killed, counted before and after each. */
  readonly writes: number;
  /** How long it takes, in milliseconds. */
  readonly duration: number;
  /**
   * Kills one repair of a copy of the deployment: at one of its writes, or some time after its start. Then repairs
   * again, undoes all, repairs once more and lets the threads go on. Returns everything that is wrong.
   */
  kill(at: { readonly write: number } | { readonly afterMs: number }): Promise<readonly string[]>;
  close(): void;
}

export async function openWard(
  agents: readonly AgentName[],
  size: { threads: number; broken: number },
): Promise<Ward> {
  const folder = makeFolder();
  const bundle = await bundleProgram(folder, CHILD);
  const origin = mkdtempSync(join(folder, "origin-"));
  const open = (place: string, threads: readonly DeployedThread[]): Clinic => ({
    threads,
    databases: new Map(agents.map((agent) => [agent, openSqlite(place, agent)])),
  });
  const { databases } = open(origin, []);
  const threads = await deploy({
    ...size,
    waiting: 1,
    agents,
    open: (agent, threadId) => driveLocally(agent, databaseOf({ databases }, agent).saver)(threadId),
  });
  const before = await keepAll({ threads, databases });
  await closeAll({ threads, databases });

  const children = new Children(bundle);
  const run = (job: RepairJob, killAfterMs?: number) => children.run(job, killAfterMs);
  const copy = (): { place: string; receipt: string } => {
    const place = mkdtempSync(join(folder, "copy-"));
    copySqlite(origin, place, agents);
    return { place, receipt: join(place, "receipt.jsonl") };
  };

  const { place, receipt } = copy();
  const begin = performance.now();
  const writes = Number(await run({ folder: place, agents, receipt, killAt: undefined }));
  const duration = performance.now() - begin;
  return {
    writes,
    duration,
    kill: async (at) => {
      const { place: own, receipt: path } = copy();
      const job = { folder: own, agents, receipt: path, killAt: "write" in at ? at.write : undefined };
      await run(job, "afterMs" in at ? at.afterMs : undefined);
      // What a process leaves that dies in the middle of a line.
      appendFileSync(path, '{"schemaVersion":1,"kind":"intent","id":"torn","threadId":"lang');
      const clinic = open(own, threads);
      try {
        return await checkKilled(clinic, before, path);
      } finally {
        await closeAll(clinic);
        rmSync(own, { recursive: true });
      }
    },
    close: () => {
      void children.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function checkKilled(
  clinic: Clinic,
  before: ReadonlyMap<string, Kept>,
  receipt: string,
): Promise<readonly string[]> {
  const told: string[] = [];
  // Each thread is as it was, or it is repaired.
  const killed = await keepAll(clinic);
  const reports = await diagnoseAll(clinic);
  for (const { threadId, kind } of clinic.threads) {
    const isSame =
      JSON.stringify(killed.get(threadId)?.messages) === JSON.stringify(before.get(threadId)?.messages);
    const isSound = reports.get(threadId)?.outcome === "sound";
    if (!isSame && !(kind === "broken" && isSound))
      told.push(`${threadId} is neither as it was nor repaired`);
  }
  // A second run completes. What the first one did is not done again.
  const repaired = await repairAll(clinic, receipt);
  const done = [...repaired.outcomes.values()].filter(({ kind }) => kind === "failed" || kind === "moved");
  for (const outcome of done) told.push(`The second run says ${JSON.stringify(outcome)}`);
  for (const [threadId, report] of await diagnoseAll(clinic))
    if (report.outcome !== "sound") told.push(`${threadId} is ${report.outcome} after the second run`);
  // Nothing is lost: the receipt of both runs gives everything back, although a line of it can be half written.
  const undone = await undoAll(clinic, receipt);
  told.push(...(await checkUndo(clinic, before, new Map([...undone].map(toRestored)))));
  const last = await repairAll(clinic, receipt);
  told.push(...(await checkRepair(clinic, before, last, await readReceipt(receipt))));
  told.push(...(await checkGoingOn(clinic)));
  return told;
}

/** A thread has an intent of each run that was about to write it, and only one of them is there to undo. */
function toRestored<Outcome extends { readonly kind: string }>([id, outcome]: readonly [string, Outcome]) {
  return [id, outcome.kind === "unchanged" ? { ...outcome, kind: "restored" as const } : outcome] as never;
}

async function closeAll({ databases }: Clinic): Promise<void> {
  for (const database of databases.values()) await database.close();
}
