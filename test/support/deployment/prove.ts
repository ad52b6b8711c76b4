/** What must hold of the doctor over a whole deployment in databases. Each step returns what it found to be wrong. */

import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  type Finding,
  openReceipt,
  planRepair,
  type ReceiptEntry,
  type RepairOutcome,
  type RepairPlan,
  readReceipt,
  type ThreadReport,
  type ThreadStore,
  type UndoOutcome,
  undo,
} from "../../../src/doctor.js";
import { eachOf } from "../async.js";
import { type AgentName, createDeployedAgent } from "./agents.js";
import type { DeployedThread } from "./deploy.js";
import { driveLocally } from "./driver.js";
import { type AgentDatabase, messagesJson } from "./stored-deployment.js";

export interface Clinic {
  readonly threads: readonly DeployedThread[];
  readonly databases: ReadonlyMap<AgentName, AgentDatabase>;
}

type Told = readonly string[];

const isLoud = ({ severity }: Finding): boolean => severity !== "info";

export function databaseOf({ databases }: Pick<Clinic, "databases">, agent: AgentName): AgentDatabase {
  const database = databases.get(agent);
  if (database === undefined) throw new Error(`Expected a database of ${agent}.`);
  return database;
}

export function storeOf(clinic: Clinic, agent: AgentName): ThreadStore {
  const database = databaseOf(clinic, agent);
  return createGraphStore({
    graph: createDeployedAgent(agent),
    checkpointer: database.saver,
    quietMs: 0,
    target: agent,
    list: async function* ({ threadIds }) {
      for (const threadId of threadIds ?? (await database.threadIds())) yield { threadId, namespace: "" };
    },
  });
}

/** The reports of all threads, by their ids. */
export async function diagnoseAll(clinic: Clinic): Promise<Map<string, ThreadReport>> {
  const reports = new Map<string, ThreadReport>();
  for (const agent of clinic.databases.keys()) {
    const store = storeOf(clinic, agent);
    const read = await eachOf(store.threads({}), (ref) => store.read(ref));
    for (const thread of read) reports.set(thread.threadId, diagnoseThread(thread, { dialect: "auto" }));
  }
  return reports;
}

export async function dumpAll({ databases }: Clinic): Promise<string> {
  return (await Promise.all([...databases.values()].map((database) => database.dumpAll()))).join("\n");
}

/** Every fault is found, and none is invented. */
export function checkReports(clinic: Clinic, reports: ReadonlyMap<string, ThreadReport>): Told {
  const told: string[] = [];
  if (reports.size !== clinic.threads.length)
    told.push(`${reports.size} reports of ${clinic.threads.length} threads`);
  for (const thread of clinic.threads) {
    const report = reports.get(thread.threadId);
    // What these agents do about open calls themselves is no fault, unless a result is lost.
    const patches = thread.agent === "deep";
    const heals = thread.agent === "ours" || patches;
    const found = (report?.findings ?? [])
      .filter(
        (finding) =>
          (isLoud(finding) && !(patches && finding.code === "state/pending-result")) ||
          (heals && finding.code.startsWith("pairing/")),
      )
      .map(({ code, callId }) => `${code} ${callId ?? ""}`.trim());
    const expected = thread.findings.map(({ code, callId = "" }) => `${code} ${callId}`.trim());
    const [have, want] = [found.sort().join(", "), expected.sort().join(", ")];
    if (have !== want) told.push(`${nameOf(thread)}: found [${have}], expected [${want}]`);
    const waits = report?.findings.some(({ code }) => code === "state/waiting-for-approval") === true;
    if (waits !== (thread.kind === "waiting")) told.push(`${nameOf(thread)}: waiting is ${waits}`);
    const outcome = thread.kind === "broken" && !heals ? "findings" : "sound";
    if (report?.outcome !== outcome && !(patches && thread.kind === "broken"))
      told.push(`${nameOf(thread)}: the outcome is ${report?.outcome}`);
  }
  return told;
}

export interface Repaired {
  readonly plans: ReadonlyMap<string, RepairPlan>;
  readonly outcomes: ReadonlyMap<string, RepairOutcome>;
}

/** Plans every thread, and writes those that need it. */
export async function repairAll(clinic: Clinic, receiptPath: string): Promise<Repaired> {
  const plans = new Map<string, RepairPlan>();
  const outcomes = new Map<string, RepairOutcome>();
  const receipt = await openReceipt(receiptPath);
  for (const agent of clinic.databases.keys()) {
    const store = storeOf(clinic, agent);
    await eachOf(store.threads({}), async (ref) => {
      const plan = planRepair(await store.read(ref));
      plans.set(ref.threadId, plan);
      outcomes.set(ref.threadId, await applyRepair({ store, ref }, plan, { receipt }));
    });
  }
  await receipt.close();
  return { plans, outcomes };
}

export async function undoAll(clinic: Clinic, receiptPath: string): Promise<Map<string, UndoOutcome>> {
  const entries = await readReceipt(receiptPath);
  const outcomes = new Map<string, UndoOutcome>();
  for (const agent of clinic.databases.keys()) {
    const own = entries.filter(({ threadId }) => threadId.startsWith(`${agent}-`));
    for await (const outcome of undo(storeOf(clinic, agent), own)) outcomes.set(outcome.threadId, outcome);
  }
  return outcomes;
}

export interface Kept {
  readonly dump: string;
  readonly messages: readonly Record<string, unknown>[];
  readonly channels: Readonly<Record<string, unknown>>;
}

/** What each thread has stored now. */
export async function keepAll(clinic: Clinic): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>();
  await eachOf(clinic.threads, async ({ agent, threadId, story }) => {
    const database = databaseOf(clinic, agent);
    const { messages: _, ...channels } = await database.channels(threadId);
    const messages = await messagesJson(agent, database, threadId).catch((cause: unknown) => {
      throw new Error(`${threadId} (${story}) cannot be read.`, { cause });
    });
    kept.set(threadId, { dump: await database.dump(threadId), messages, channels });
  });
  return kept;
}

/**
 * Broken threads are repaired, and all others have the same bytes. What was in a thread is in it, or in the receipt.
 */
export async function checkRepair(
  clinic: Clinic,
  before: ReadonlyMap<string, Kept>,
  { plans, outcomes }: Repaired,
  receipt: readonly ReceiptEntry[],
): Promise<Told> {
  const told: string[] = [];
  const after = await keepAll(clinic);
  const reports = await diagnoseAll(clinic);
  for (const thread of clinic.threads) {
    const { threadId, kind, kept, values } = thread;
    const say = (text: string) => told.push(`${nameOf(thread)}: ${text}`);
    const outcome = outcomes.get(threadId);
    const [old, now] = [before.get(threadId), after.get(threadId)];
    if (old === undefined || now === undefined) throw new Error(`Expected ${threadId} to be known.`);
    if (kind !== "broken") {
      const wanted = kind === "sound" ? "nothing" : "skipped";
      if (outcome?.kind !== wanted) say(`the outcome is ${JSON.stringify(outcome)}`);
      if (old.dump !== now.dump) say("something was written");
      continue;
    }
    if (outcome?.kind !== "repaired") {
      say(`the outcome is ${JSON.stringify(outcome)}, the plan ${plans.get(threadId)?.kind}`);
      continue;
    }
    const left = reports.get(threadId)?.findings.filter(isLoud) ?? [];
    // An id that a model has used twice changes in the request, not in the store.
    for (const { code, evidence } of left)
      if (code !== "pairing/reused-id") say(`left is ${code}: ${evidence}`);
    const texts = now.messages.map(textOf);
    for (const text of kept) if (!texts.includes(text)) say(`"${text}" is not in it`);
    const there = new Set(now.messages.map(contentsOf));
    const receipted = JSON.stringify(receipt.filter((entry) => entry.threadId === threadId));
    for (const message of old.messages)
      if (!there.has(contentsOf(message)) && !receipted.includes(idOf(message)))
        say(`${idOf(message)} is lost`);
    for (const name of new Set([...Object.keys(old.channels), ...Object.keys(now.channels)])) {
      const [was, is] = [name in values ? values[name] : old.channels[name], now.channels[name]];
      if (JSON.stringify(was) !== JSON.stringify(is))
        say(`${name} was ${JSON.stringify(was)} and is ${JSON.stringify(is)}`);
    }
  }
  return told;
}

/** `undo` gives back each message with the same bytes. */
export async function checkUndo(
  clinic: Clinic,
  before: ReadonlyMap<string, Kept>,
  outcomes: ReadonlyMap<string, UndoOutcome>,
): Promise<Told> {
  const told: string[] = [];
  await eachOf(clinic.threads, async (thread) => {
    const { agent, threadId, kind } = thread;
    const outcome = outcomes.get(threadId);
    if (kind !== "broken") {
      if (outcome !== undefined) told.push(`${nameOf(thread)}: undo says ${outcome.kind}`);
      return;
    }
    if (outcome?.kind !== "restored") told.push(`${nameOf(thread)}: undo says ${JSON.stringify(outcome)}`);
    const list = await messagesJson(agent, databaseOf(clinic, agent), threadId);
    const [was, is] = [JSON.stringify(before.get(threadId)?.messages), JSON.stringify(list)];
    if (was !== is) told.push(`${nameOf(thread)}: the messages were\n${was}\nand are\n${is}`);
  });
  return told;
}

/** Each thread goes on in its own agent, with a strict model. What it had stays. */
export async function checkGoingOn(clinic: Clinic): Promise<Told> {
  const told: string[] = [];
  await eachOf(clinic.threads, async (thread) => {
    const { agent, threadId, kind } = thread;
    if (kind === "waiting" || kind === "busy") return;
    const database = databaseOf(clinic, agent);
    const driver = driveLocally(agent, database.saver)(threadId);
    const before = await messagesJson(agent, database, threadId);
    const said = await driver.say("Are you well?");
    const worked =
      agent === "gated" ? undefined : await driver.work([{ id: `after-${threadId}`, name: "look" }]);
    for (const error of [said, worked])
      if (error !== undefined) told.push(`${nameOf(thread)}: it does not go on: ${String(error)}`);
    const after = (await messagesJson(agent, database, threadId).catch(() => [])).map(contentsOf);
    const missing = before.filter((message) => !after.includes(contentsOf(message)));
    if (missing.length > 0) told.push(`${nameOf(thread)}: ${missing.map(idOf).join()} is gone`);
  });
  return told;
}

const nameOf = ({ threadId, kind, story }: DeployedThread): string => `${threadId} (${kind}: ${story})`;

/** A message has its fields in `kwargs` as stored, and at the top in the JSON of some servers. */
function fieldsOf(message: Record<string, unknown>): Record<string, unknown> {
  const { kwargs } = message;
  return typeof kwargs === "object" && kwargs !== null ? { ...kwargs } : message;
}

const idOf = (message: Record<string, unknown>): string => String(fieldsOf(message)["id"]);
const contentsOf = (message: Record<string, unknown>): string => {
  const { id, content, tool_calls, tool_call_id } = fieldsOf(message);
  return JSON.stringify([id, content, tool_calls, tool_call_id]);
};

function textOf(message: Record<string, unknown>): string {
  const { content } = fieldsOf(message);
  return typeof content === "string" ? content : JSON.stringify(content);
}
