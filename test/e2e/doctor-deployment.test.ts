/**
 * The doctor over the threads of a development server, some of which are broken, wait for a human, or have a run.
 * Slow: `SLOW_TESTS=1`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { openTarget } from "../../src/doctor/targets/open-target.js";
import {
  applyRepair,
  diagnoseThread,
  openReceipt,
  planRepair,
  readReceipt,
  type ThreadReport,
  undo,
} from "../../src/doctor.js";
import { deploy } from "../support/deployment/deploy.js";
import { driveServer } from "../support/deployment/server-driver.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";

expectWarnings(OLD_PACKAGES);

const CONFIG = fileURLToPath(new URL("../fixtures/deployment/langgraph.json", import.meta.url));
const isTooDeep = (story: string): boolean => story.includes("nested too deep");
const THREADS = Number(process.env["DEPLOYED_THREADS"] ?? 40);
const BROKEN = Math.max(18, Math.floor(THREADS * 0.12));

it.skipIf(process.env["SLOW_TESTS"] !== "1")(
  "a deployment on a server is found out, repaired and undone, and goes on",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "tether-served-deployment-"));
    const server = await startDevServer({ config: CONFIG, stateDirectory: join(folder, "state") });
    const { client } = server;
    try {
      const threads = await deploy({
        threads: THREADS,
        broken: BROKEN,
        waiting: 8,
        busy: 4,
        open: (agent) => driveServer(client, agent),
      });
      const store = await openTarget(
        { kind: "url", url: server.url, apiKey: undefined, headers: {} },
        { canWrite: true, concurrency: 2, folder, environment: {}, readInput: async () => "" },
      );
      const diagnose = async () => {
        const reports = new Map<string, ThreadReport>();
        for await (const ref of store.threads({}))
          reports.set(ref.threadId, diagnoseThread(await store.read(ref)));
        return reports;
      };
      const valuesOf = async () => {
        const all = new Map<string, Record<string, unknown>>();
        for (const { threadId } of threads)
          all.set(
            threadId,
            await client.threads.getState<Record<string, unknown>>(threadId).then(
              ({ values }) => values,
              () => ({}),
            ),
          );
        return all;
      };
      const heads = async () => {
        const all = new Map<string, unknown>();
        for (const { threadId, kind } of threads)
          if (kind === "sound" || kind === "waiting")
            all.set(threadId, (await client.threads.getState(threadId)).checkpoint.checkpoint_id);
        return all;
      };
      const told: string[] = [];
      const headsBefore = await heads();
      const before = await valuesOf();
      const reports = await diagnose();
      for (const { agent, threadId, kind, story, findings } of threads) {
        const say = (text: string) => told.push(`${agent} ${threadId} (${kind}: ${story}): ${text}`);
        const report = reports.get(threadId);
        const loud = (report?.findings ?? []).filter(({ severity }) => severity !== "info");
        const found = loud.map(({ code, callId }) => `${code} ${callId ?? ""}`.trim()).sort();
        const shown = isTooDeep(story)
          ? [{ code: "thread/unreadable", callId: "" }]
          : findings.filter(({ isFinished }) => isFinished !== true);
        const expected = shown.map(({ code, callId = "" }) => `${code} ${callId}`.trim()).sort();
        if (found.join() !== expected.join()) say(`found [${found}], expected [${expected}]`);
        const outcome = isTooDeep(story)
          ? "unreadable"
          : { broken: "findings", busy: "skipped", waiting: "sound", sound: "sound" }[kind];
        if (report?.outcome !== outcome) say(`the outcome is ${report?.outcome}`);
      }
      expect.soft(told).toEqual([]);
      expect(JSON.stringify([...(await diagnose())].sort())).toBe(JSON.stringify([...reports].sort()));

      const repair = async (name: string) => {
        const receipt = await openReceipt(join(folder, name));
        const outcomes = new Map<string, string>();
        for await (const ref of store.threads({})) {
          const outcome = await applyRepair({ store, ref }, planRepair(await store.read(ref)), { receipt });
          outcomes.set(ref.threadId, outcome.kind === "failed" ? outcome.error : outcome.kind);
        }
        await receipt.close();
        return outcomes;
      };
      const outcomes = await repair("first.jsonl");
      const after = await valuesOf();
      const headsAfter = await heads();
      const wanted = { broken: "repaired", busy: "skipped", waiting: "skipped", sound: "nothing" };
      const untold: string[] = [];
      for (const { agent, threadId, kind, story, kept, values: folded } of threads) {
        const say = (text: string) => untold.push(`${agent} ${threadId} (${kind}: ${story}): ${text}`);
        // A server refuses to read it in any way. It is never called sound, and never written.
        if (isTooDeep(story)) continue;
        if (outcomes.get(threadId) !== wanted[kind]) say(`the outcome is ${outcomes.get(threadId)}`);
        const { messages: _, ...others } = before.get(threadId) ?? {};
        const { messages, ...now } = after.get(threadId) ?? {};
        const isBricked = !before.get(threadId)?.["messages"];
        if (!isBricked && kind !== "busy" && JSON.stringify({ ...others, ...folded }) !== JSON.stringify(now))
          say(`other keys were ${JSON.stringify(others)} and are ${JSON.stringify(now)}`);
        const text = JSON.stringify(messages);
        // A server does not show what finished tasks of a bricked thread have written.
        for (const each of isBricked ? [] : kept) if (!text?.includes(each)) say(`"${each}" is not in it`);
        if (kind === "sound" || kind === "waiting")
          if (headsBefore.get(threadId) !== headsAfter.get(threadId)) say("it was written");
      }
      expect.soft(untold).toEqual([]);
      const again = [...(await repair("second.jsonl")).values()];
      expect.soft(again.filter((kind) => kind !== "nothing" && kind !== "skipped")).toEqual([]);
      expect.soft(await readReceipt(join(folder, "second.jsonl"))).toEqual([]);

      const restored: string[] = [];
      for await (const outcome of undo(store, await readReceipt(join(folder, "first.jsonl"))))
        if (outcome.kind !== "restored") restored.push(JSON.stringify(outcome));
      expect.soft(restored).toEqual([]);
      await repair("third.jsonl");
      const stuck: string[] = [];
      for (const { agent, threadId, kind, story } of threads) {
        if (kind === "busy" || kind === "waiting" || isTooDeep(story)) continue;
        const input = { messages: [{ role: "user", content: "Are you well?" }] };
        const run = await client.runs.create(threadId, agent, { input });
        await client.runs.join(threadId, run.run_id).catch(() => {});
        const { status } = await client.runs.get(threadId, run.run_id);
        if (status !== "success") stuck.push(`${agent} ${threadId} (${story}): ${status}`);
      }
      expect(stuck).toEqual([]);
      await store.close();
    } finally {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  900_000,
);
