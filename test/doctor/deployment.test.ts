/**
 * The doctor over the threads of a deployment of real agents, many of which are broken. `SLOW_TESTS=1` writes 500
 * threads instead of a few.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readReceipt } from "../../src/doctor.js";
import { AGENT_NAMES, type AgentName } from "../support/deployment/agents.js";
import { deploy } from "../support/deployment/deploy.js";
import { driveLocally } from "../support/deployment/local-driver.js";
import {
  type Clinic,
  checkGoingOn,
  checkRepair,
  checkReports,
  checkUndo,
  diagnoseAll,
  dumpAll,
  keepAll,
  repairAll,
  undoAll,
} from "../support/deployment/prove.js";
import { type AgentDatabase, openPostgres, openSqlite } from "../support/deployment/stored-deployment.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { DATABASE_URL } from "../support/savers.js";

expectWarnings(OLD_PACKAGES);

const SIZE =
  process.env["SLOW_TESTS"] === "1"
    ? { threads: 500, broken: 66, waiting: 24 }
    : { threads: 32, broken: 20, waiting: 6 };

const DATABASES = [
  {
    title: "SQLite",
    isThere: true,
    open: async (folder: string, agent: AgentName) => openSqlite(folder, agent),
  },
  {
    title: "PostgreSQL",
    isThere: DATABASE_URL !== undefined,
    open: (_: string, agent: AgentName) => openPostgres(DATABASE_URL ?? "", `doctor_${process.pid}_${agent}`),
  },
];

describe.each(DATABASES)("a deployment in $title", ({ isThere, open }) => {
  it.skipIf(!isThere)(
    "is found out, repaired, undone, and goes on",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "tether-deployment-"));
      const databases = new Map<AgentName, AgentDatabase>();
      try {
        for (const agent of AGENT_NAMES) databases.set(agent, await open(folder, agent));
        const threads = await deploy({
          ...SIZE,
          open: (agent, threadId) => driveLocally(agent, saverOf(databases, agent))(threadId),
        });
        const clinic: Clinic = { threads, databases };
        const before = await keepAll(clinic);

        const dump = await dumpAll(clinic);
        const reports = await diagnoseAll(clinic);
        expect(checkReports(clinic, reports)).toEqual([]);
        expect(JSON.stringify([...(await diagnoseAll(clinic))])).toBe(JSON.stringify([...reports]));
        expect((await dumpAll(clinic)) === dump).toBe(true);

        const first = join(folder, "first.jsonl");
        const repaired = await repairAll(clinic, first);
        expect(await checkRepair(clinic, before, repaired, await readReceipt(first))).toEqual([]);

        expect(await checkUndo(clinic, before, await undoAll(clinic, first))).toEqual([]);
        const second = join(folder, "second.jsonl");
        const again = await repairAll(clinic, second);
        expect(await checkRepair(clinic, before, again, await readReceipt(second))).toEqual([]);

        const healed = await dumpAll(clinic);
        const third = join(folder, "third.jsonl");
        const { outcomes } = await repairAll(clinic, third);
        expect([...outcomes.values()].filter(({ kind }) => kind !== "nothing" && kind !== "skipped")).toEqual(
          [],
        );
        expect(await readReceipt(third)).toEqual([]);
        expect((await dumpAll(clinic)) === healed).toBe(true);

        expect(await checkGoingOn(clinic)).toEqual([]);
      } finally {
        for (const database of databases.values()) await database.close();
        rmSync(folder, { recursive: true });
      }
    },
    900_000,
  );
});

function saverOf(databases: ReadonlyMap<AgentName, AgentDatabase>, agent: AgentName) {
  const database = databases.get(agent);
  if (database === undefined) throw new Error(`Expected a database of ${agent}.`);
  return database.saver;
}
