import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Entry } from "./job.js";
import { runCrashes } from "./run-crashes.js";

const KILLS = 3;

const CHANNELS = process.env["SLOW_TESTS"] === "1" ? (["full", "delta"] as const) : (["full"] as const);

it.each(CHANNELS)(
  "A thread on SQLite loses nothing that was saved when its processes are killed (%s)",
  async (messagesChannel) => {
    const folder = mkdtempSync(join(tmpdir(), "tether-crash-test-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const ledgers: (readonly Entry[])[] = [];
    const crashes = await runCrashes({
      database: { kind: "sqlite", file: join(folder, "threads.sqlite") },
      durability: "sync",
      messagesChannel,
      kills: KILLS,
      random: Math.random,
      onFault: (entries) => ledgers.push(entries),
    });
    expect(crashes.faults, JSON.stringify(ledgers)).toEqual([]);
    expect(crashes.kills).toBeGreaterThanOrEqual(KILLS);
  },
);
