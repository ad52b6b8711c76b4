/**
 * The doctor over the threads of a deployment of real agents, many of which are broken. `SLOW_TESTS=1` writes 500
 * threads instead of a few.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readReceipt } from "../../src/doctor.js";
import { AGENT_NAMES, type AgentName } from "../support/deployment/agents.js";
import { deploy } from "../support/deployment/deploy.js";
import { driveLocally } from "../support/deployment/driver.js";
import {
  type Clinic,
  checkGoingOn,
  checkRepair,
  checkReports,
  checkUndo,
  databaseOf,
  diagnoseAll,
  dumpAll,
  keepAll,
  repairAll,
  undoAll,
} from "../support/deployment/prove.js";
import { type AgentDatabase, openPostgres, openSqlite } from "../support/deployment/stored-deployment.js";
import { DATABASE_URL } from "../support/savers.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";

expectWarnings(OLD_PACKAGES);

const isSlow = process.env["SLOW_TESTS"] === "1";
const SIZE = isSlow ? { threads: 500, broken: 66, waiting: 24 } : { threads: 32, broken: 20, waiting: 6 };

type Open = (folder: string, agent: AgentName) => AgentDatabase | Promise<AgentDatabase>;
const DATABASES: Readonly<Record<string, Open>> = {
  SQLite: openSqlite,
  ...(DATABASE_URL !== undefined && {
    PostgreSQL: (_, agent) => openPostgres(DATABASE_URL ?? "", `doctor_${process.pid}_${agent}`),
  }),
};

it.each(Object.entries(DATABASES))(
  "a deployment in %s is found out, repaired, undone, and goes on",
  async (_, open) => {
    const folder = mkdtempSync(join(tmpdir(), "tether-deployment-"));
    const databases = new Map<AgentName, AgentDatabase>();
    try {
      for (const agent of AGENT_NAMES) databases.set(agent, await open(folder, agent));
      const threads = await deploy({
        ...SIZE,
        open: (agent, threadId) => driveLocally(agent, databaseOf({ databases }, agent).saver)(threadId),
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
      const kinds = new Set([...outcomes.values()].map(({ kind }) => kind));
      expect([...kinds].toSorted()).toEqual(["nothing", "skipped"]);
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
