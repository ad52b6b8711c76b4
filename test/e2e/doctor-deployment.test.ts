/**
 * The doctor over the threads of a development server, some of which are broken, wait for a human, or have a run.
 * Slow: `SLOW_TESTS=1`. `DEPLOYED_THREADS=500` writes that many.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { Client } from "@langchain/langgraph-sdk";
import { expect, it } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { serverTarget } from "../../src/doctor/targets/server-target.js";
import {
  applyRepair,
  diagnoseThread,
  openReceipt,
  planRepair,
  readReceipt,
  type ThreadReport,
  undo,
} from "../../src/doctor.js";
import { eachOf } from "../support/async.js";
import type { AgentName } from "../support/deployment/agents.js";
import { deploy } from "../support/deployment/deploy.js";
import type { Driver } from "../support/deployment/driver.js";
import { type WorkCall, workText } from "../support/deployment/strict-worker.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";

async function driveServer(client: Client, agent: AgentName): Promise<Driver> {
  const { thread_id: threadId } = await client.threads.create({ graphId: agent });
  const input = (content: string) => ({ messages: [{ role: "user", content }] });
  const say = async (content: string): Promise<unknown> => {
    const run = await client.runs.create(threadId, agent, { input: input(content) });
    await client.runs.join(threadId, run.run_id).catch(() => {});
    const { status } = await client.runs.get(threadId, run.run_id);
    return status === "error" ? new Error(`A run of ${threadId} failed.`) : undefined;
  };
  const begin = async (calls: readonly WorkCall[], finished: number): Promise<string> => {
    const { run_id } = await client.runs.create(threadId, agent, { input: input(workText(calls)) });
    for (;;) {
      const { values, next } = await client.threads.getState<{ messages?: { type: string }[] }>(threadId);
      const messages = values.messages ?? [];
      const asked = messages.findLastIndex(({ type }) => type === "human");
      const [response, ...results] = messages.slice(asked + 1);
      if (next.includes("tools") && response !== undefined && results.length >= finished) return run_id;
      await delay(20);
    }
  };
  const cancel = async (calls: readonly WorkCall[], finished: number): Promise<void> => {
    await client.runs.cancel(threadId, await begin(calls, finished), true, "interrupt");
    while ((await client.threads.get(threadId)).status === "busy") await delay(20);
  };
  return {
    agent,
    threadId,
    say,
    work: (calls) => say(workText(calls)),
    cancel,
    die: cancel,
    leaveBusy: async (calls) => void (await begin(calls, 1)),
    read: async () => {
      const { values } = await client.threads.getState<{ messages?: BaseMessage[] }>(threadId);
      return (values.messages ?? []).map((message) => coerceMessageLikeToMessage(message));
    },
    edit: async (messages, asNode) => {
      const values = { messages: messages.map(toPlain) };
      await client.threads.updateState(threadId, { values, ...(asNode !== undefined && { asNode }) });
    },
  };
}

/** A message as clients send it. */
function toPlain(message: object): object {
  if (!("toDict" in message)) return message;
  const { type, data } = (message as BaseMessage).toDict();
  return { ...data, type };
}

expectWarnings(OLD_PACKAGES);

const CONFIG = fileURLToPath(new URL("../fixtures/deployment/langgraph.json", import.meta.url));
const isTooDeep = (story: string): boolean => story.includes("nested too deep");
const THREADS = Number(process.env["DEPLOYED_THREADS"] ?? 40);
const BROKEN = Math.max(20, Math.floor(THREADS * 0.13));

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
      const context = { canWrite: true, folder, environment: {}, readInput: async () => "" };
      const store = await serverTarget.open({ url: server.url }, context);
      const broken = threads.filter(({ kind }) => kind === "broken");
      const diagnose = async () => {
        const read = await eachOf(store.threads({}), (ref) => store.read(ref));
        return new Map<string, ThreadReport>(read.map((each) => [each.threadId, diagnoseThread(each)]));
      };
      const valuesOf = async () => {
        const read = await eachOf(broken, async ({ threadId }) => {
          const latest = await client.threads.getState<Record<string, unknown>>(threadId).catch(
            // Nobody can read the latest state of a bricked thread.
            async () => (await client.threads.getHistory(threadId, { limit: 1 }).catch(() => []))[0],
          );
          return [threadId, Object(latest?.values) as Record<string, unknown>] as const;
        });
        return new Map(read);
      };
      const told: string[] = [];
      const before = await valuesOf();
      const beforeAgain = await valuesOf();
      const reports = await diagnose();
      for (const { agent, threadId, kind, story, findings } of threads) {
        const say = (text: string) => told.push(`${agent} ${threadId} (${kind}: ${story}): ${text}`);
        const report = reports.get(threadId);
        // What this agent repairs itself is no fault.
        const patches = agent === "deep";
        const heals = (agent === "ours" || patches) && !isTooDeep(story);
        const loud = (report?.findings ?? []).filter(
          ({ code, severity }) =>
            (severity !== "info" && !(patches && code === "state/pending-result")) ||
            (heals && code.startsWith("pairing/")),
        );
        const found = loud.map(({ code, callId }) => `${code} ${callId ?? ""}`.trim()).sort();
        const shown = isTooDeep(story)
          ? [{ code: "thread/unreadable", callId: "" }]
          : findings.filter(({ isFinished }) => isFinished !== true);
        const expected = shown.map(({ code, callId = "" }) => `${code} ${callId}`.trim()).sort();
        if (found.join() !== expected.join()) say(`found [${found}], expected [${expected}]`);
        const outcome = isTooDeep(story)
          ? "unreadable"
          : { broken: heals ? "sound" : "findings", busy: "skipped", waiting: "sound", sound: "sound" }[kind];
        if (report?.outcome !== outcome && !(patches && kind === "broken"))
          say(`the outcome is ${report?.outcome}`);
      }
      expect.soft(told).toEqual([]);
      expect(JSON.stringify([...(await diagnose())].sort())).toBe(JSON.stringify([...reports].sort()));

      const repair = async (name: string, threadIds?: readonly string[]) => {
        const receipt = await openReceipt(join(folder, name));
        const outcomes = await eachOf(store.threads({ threadIds }), async (ref) => {
          const outcome = await applyRepair({ store, ref }, planRepair(await store.read(ref)), { receipt });
          return [ref.threadId, outcome.kind === "failed" ? outcome.error : outcome.kind] as const;
        });
        await receipt.close();
        return new Map(outcomes);
      };
      const outcomes = await repair("first.jsonl");
      const after = await valuesOf();
      const left = await diagnose();
      const wanted = { broken: "repaired", busy: "skipped", waiting: "skipped", sound: "nothing" };
      const untold: string[] = [];
      for (const { agent, threadId, kind, story, kept, values: folded } of threads) {
        const say = (text: string) => untold.push(`${agent} ${threadId} (${kind}: ${story}): ${text}`);
        // A server refuses to read it in any way. It is never called sound, and never written.
        if (isTooDeep(story)) continue;
        if (outcomes.get(threadId) !== wanted[kind]) say(`the outcome is ${outcomes.get(threadId)}`);
        const report = left.get(threadId);
        if (kind !== "broken") {
          if (reports.get(threadId)?.checkpointId !== report?.checkpointId) say("it was written");
          continue;
        }
        if (report?.outcome !== "sound") say(`it is ${report?.outcome} after the repair`);
        const { messages: _, ...others } = before.get(threadId) ?? {};
        const { messages, ...now } = after.get(threadId) ?? {};
        if (JSON.stringify({ ...others, ...folded }) !== JSON.stringify(now))
          say(`other keys were ${JSON.stringify(others)} and are ${JSON.stringify(now)}`);
        const text = JSON.stringify(messages);
        for (const each of kept) if (!text?.includes(each)) say(`"${each}" is not in it`);
      }
      expect.soft(untold).toEqual([]);

      const restored: string[] = [];
      for await (const outcome of undo(store, await readReceipt(join(folder, "first.jsonl"))))
        if (outcome.kind !== "restored") restored.push(JSON.stringify(outcome));
      const undone = await valuesOf();
      for (const { agent, threadId, story } of broken) {
        const lists = [before, beforeAgain, undone].map((all) => listOf(all.get(threadId)));
        const [was = [], wasAgain = [], is = []] = lists;
        const bytesOf = (list: readonly string[]) => list.map((_, at) => bytesAt(at, list, was, wasAgain));
        if (bytesOf(is).join("\n") !== bytesOf(was).join("\n"))
          restored.push(
            `${agent} ${threadId} (${story}) has other bytes: ${is.find((text) => !was.includes(text))}`,
          );
      }
      expect.soft(restored).toEqual([]);
      const ids = broken.map(({ threadId }) => threadId);
      await repair("second.jsonl", ids);
      const again = [...(await repair("third.jsonl", ids)).values()];
      expect.soft(again.filter((kind) => kind !== "nothing" && kind !== "skipped")).toEqual([]);
      expect.soft(await readReceipt(join(folder, "third.jsonl"))).toEqual([]);
      const stuck: string[] = [];
      await eachOf(threads, async ({ agent, threadId, kind, story }) => {
        if (kind === "busy" || kind === "waiting" || isTooDeep(story)) return;
        const input = { messages: [{ role: "user", content: "Are you well?" }] };
        const run = await client.runs.create(threadId, agent, { input });
        await client.runs.join(threadId, run.run_id).catch(() => {});
        const { status } = await client.runs.get(threadId, run.run_id);
        if (status !== "success") stuck.push(`${agent} ${threadId} (${story}): ${status}`);
      });
      expect(stuck).toEqual([]);
      await store.close();
    } finally {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  1_800_000,
);

/** The JSON of each message. */
function listOf(values: Record<string, unknown> | undefined): string[] {
  const messages = values?.["messages"];
  return Array.isArray(messages) ? messages.map((message) => JSON.stringify(message)) : [];
}

/**
 * A finished result that is not in the list yet gets another random id with each read, which does not count. Nor does the
 * order of the fields of a message with invalid calls: LangChain changes it when a client sends the message.
 */
function bytesAt(at: number, list: readonly string[], was: readonly string[], wasAgain: readonly string[]) {
  const { id, ...fields } = JSON.parse(list[at] ?? "{}");
  if (was[at] !== wasAgain[at]) return JSON.stringify(fields);
  if (!fields.invalid_tool_calls?.length) return list[at];
  return JSON.stringify(Object.entries({ id, ...fields }).sort(([one], [other]) => (one < other ? -1 : 1)));
}
