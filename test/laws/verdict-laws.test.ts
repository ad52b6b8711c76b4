/**
 * What the doctor and the inspector say of a thread, beside what its own agent sends next. Red: the next request is
 * refused. Green: it is sound. Everything else says that it is not known.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, Command } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGraphStore,
  diagnoseThread,
  planRepair,
  type ThreadReport,
  type ThreadStore,
} from "../../src/doctor.js";
import { createInspector } from "../../src/inspector.js";
import { makeFolder, run } from "../doctor/command/command-line.js";
import { repair } from "../doctor/repair.js";
import {
  AGENT_KINDS,
  type AgentKind,
  type AnyGraph,
  channelOf,
  createWorld,
  inputOf,
  makeAgent,
  type World,
} from "../support/agent-kinds.js";
import { copyThread } from "../support/copy-thread.js";
import { DATABASE_URL, SAVERS, type SaverKind } from "../support/savers.js";
import { strictViolations } from "../support/strict-check.js";
import { inThread } from "../support/thread.js";

const config = inThread("1");

/** A thread of an agent. */
interface Case {
  readonly kind: AgentKind;
  readonly world: World;
  readonly checkpointer: BaseCheckpointSaver;
  readonly graph: AnyGraph;
}

function open(kind: AgentKind, checkpointer: BaseCheckpointSaver): Case {
  const world = createWorld();
  onTestFinished(() => world.letGo());
  return { kind, world, checkpointer, graph: makeAgent(kind, world, checkpointer) };
}

const say = ({ graph, kind }: Case, text: string) => graph.invoke(inputOf(kind, text), config);

/** Writes as another program does. */
async function write(given: Case, ...messages: BaseMessage[]): Promise<undefined> {
  await say(given, "hello");
  await given.graph.updateState(config, { [channelOf(given.kind)]: messages } as never);
  return undefined;
}

const callOf = (id: string) =>
  new AIMessage({ id: `ai-${id}`, content: "", tool_calls: [{ id, name: "look", args: {} }] });
const resultOf = (id: string, messageId = `tool-${id}`) =>
  new ToolMessage({ id: messageId, tool_call_id: id, name: "look", content: "seen" });
const human = (id: string) => new HumanMessage({ id, content: `text of ${id}` });
const text = (id: string) => new AIMessage({ id, content: `text of ${id}` });

/** Whether a checkpoint of the thread has the call of `wait`. A saver writes while the tools already work. */
async function hasCall(checkpointer: BaseCheckpointSaver): Promise<boolean> {
  for await (const { checkpoint } of checkpointer.list(config))
    if (JSON.stringify(checkpoint.channel_values).includes('"name":"wait"')) return true;
  return false;
}

/** A run in which one tool works, after the other one has returned. */
async function begin({ world, graph, kind, checkpointer }: Case): Promise<{ cancel: () => Promise<void> }> {
  const ending = new AbortController();
  const running = graph.invoke(inputOf(kind, "work"), { ...config, signal: ending.signal });
  running.catch(() => {});
  await world.begun;
  await expect.poll(() => hasCall(checkpointer)).toBe(true);
  const cancel = async () => {
    ending.abort();
    await expect(running).rejects.toThrow();
  };
  return { cancel };
}

/** What happened to the thread. A state is read in another database if that is how a killed process leaves it. */
const STATES = {
  empty: async () => undefined,
  sound: async (given) => void (await say(given, "hello")),
  "cancelled in the middle of a tool": async (given) => void (await (await begin(given)).cancel()),
  "cancelled, with a result that came late": async (given) => {
    await (await begin(given)).cancel();
    given.world.letGo();
    return undefined;
  },
  "killed in the middle of a tool": async (given, another) => {
    await begin(given);
    const copy = await another();
    await copyThread(given.checkpointer, "1", "1", copy.checkpointer);
    return copy;
  },
  "broken arguments": async (given) => void (await say(given, "break")),
  "a call that is cut from its result": (given) =>
    write(given, human("h"), callOf("c"), human("i"), text("a")),
  "a result that is cut from its call": (given) => write(given, human("h"), resultOf("c"), text("a")),
  "two results of one call": (given) =>
    write(given, human("h"), callOf("c"), resultOf("c"), resultOf("c", "again"), text("a")),
  "waiting for a human": async (given) => void (await say(given, "ask")),
  "after a failure of the model": async (given) => void (await say(given, "fail").catch(() => {})),
  "whose run goes on": async (given) => void (await begin(given)),
} satisfies Record<string, (given: Case, another: () => Promise<Case>) => Promise<Case | undefined>>;

type State = keyof typeof STATES;

/** What was said: whether the next request is refused, sound, or neither is known. */
type Verdict = "red" | "green" | "unknown";

const isRed = (reports: readonly Pick<ThreadReport, "findings">[]): boolean =>
  reports.some(({ findings }) => findings.some(({ severity }) => severity === "error"));

async function verdictOfDoctor(store: ThreadStore): Promise<Verdict> {
  const reports: ThreadReport[] = [];
  for await (const ref of store.threads({})) reports.push(await diagnoseThread({ store, ref }));
  if (isRed(reports)) return "red";
  return reports.every(({ outcome }) => outcome === "sound") ? "green" : "unknown";
}

/** What the command line says. Its marks, its JSON and its exit code agree. */
async function verdictOfCommand(args: readonly string[], folder: string): Promise<Verdict> {
  const json = await run(["doctor", ...args, "--format", "json"], { folder, now: Date.now });
  const printed = await run(["doctor", ...args], { folder, now: Date.now });
  const { threads, outcome } = JSON.parse(json.output);
  expect([printed.code, printed.output.includes("✗")]).toEqual([json.code, isRed(threads)]);
  if (/ (?:is|are) sound\./.test(printed.output)) expect(outcome).toBe("sound");
  if (isRed(threads)) expect(json.code).toBe(1);
  return isRed(threads) ? "red" : json.code === 0 ? "green" : "unknown";
}

async function verdictOfPages(store: ThreadStore): Promise<Verdict> {
  const inspect = createInspector({ threads: () => store, isProtected: true });
  const read = async (path: string) => (await inspect(new Request(`http://localhost/tether${path}`))).text();
  const page = await read("/threads/1");
  const story = /<section class="panel story".*?<\/section>/s.exec(page)?.[0] ?? "";
  if (/"bad-text">[^<]* refuse the next message/.test(story)) return "red";
  return (await read("")).includes("chip good") ? "green" : "unknown";
}

/** The options that name the database of a checkpointer. */
function placeOf(checkpointer: BaseCheckpointSaver): readonly string[] {
  const file: unknown = Object(Reflect.get(checkpointer, "db")).name;
  if (typeof file === "string") return ["--sqlite", file];
  return ["--postgres", DATABASE_URL ?? "", "--schema", Object(Reflect.get(checkpointer, "options")).schema];
}

/** Whether a request of the next run is refused, with a new message or an answer. */
async function isRefusedNext(given: Case, state: State): Promise<boolean> {
  const { world, graph } = given;
  const before = world.sent.length;
  world.letGo();
  const isAnswered = state === "waiting for a human";
  await (isAnswered ? graph.invoke(new Command({ resume: "yes" }) as never, config) : say(given, "go on"));
  const requests = world.sent.slice(before);
  expect(requests).not.toEqual([]);
  return requests.some((messages) => strictViolations(messages).length > 0);
}

/** What a file of the thread's state cannot have. */
const KEEPS_ELSEWHERE: AgentKind = "a subgraph with a memory of its own";

async function expectTrue({ open: openSaver }: SaverKind, kind: AgentKind, state: State): Promise<void> {
  const another = async () => open(kind, (await openSaver()).connect());
  const made = await another();
  const given = (await STATES[state](made, another)) ?? made;
  const { graph, checkpointer } = given;
  const isRunning = state === "whose run goes on";
  const quietMs = isRunning ? undefined : 0;
  const store = createGraphStore({ graph, quietMs });
  const folder = makeFolder();
  writeFileSync(join(folder, "thread.json"), JSON.stringify(await graph.getState(config)));
  const quiet = isRunning ? [] : ["--quiet-for", "0s"];
  const said: Record<string, Verdict> = {
    doctor: await verdictOfDoctor(store),
    page: await verdictOfPages(store),
    "the database without the graph": await verdictOfCommand([...placeOf(checkpointer), ...quiet], folder),
  };
  const ofFile = await verdictOfCommand(["--file", "thread.json"], folder);
  if (kind !== KEEPS_ELSEWHERE && !isRunning) said["file"] = ofFile;
  expect((await run(["doctor", "--file", "thread.json"], { folder })).output).toContain("its subgraphs keep");
  if (isRunning) {
    expect(said).toEqual({ doctor: "unknown", page: "unknown", "the database without the graph": "unknown" });
    return;
  }
  const mended = await another();
  await copyThread(checkpointer, "1", "1", mended.checkpointer);
  const place = { graph: mended.graph, config, quietMs: 0 };
  const isMended = (await planRepair(place)).kind === "write";
  if (isMended) await repair(place);

  const isRefused = await isRefusedNext(given, state);
  const wrong = isRefused ? "green" : "red";
  expect({ isRefused, ...said }).toEqual({
    isRefused,
    ...Object.fromEntries(Object.keys(said).map((name) => [name, expect.not.stringMatching(wrong)])),
  });
  // What the plan says ends the fault.
  if (isMended && kind !== KEEPS_ELSEWHERE) expect(await isRefusedNext(mended, state)).toBe(false);
}

describe.each(
  SAVERS.filter(({ title, isThere }) => isThere && title !== "MemorySaver" && !/first/.test(title)),
)("over $title, what is said", (saver) => {
  describe.each(AGENT_KINDS)("of a thread of %s", (kind) => {
    it.each(Object.keys(STATES) as State[])("%s, is what is sent", (state) => expectTrue(saver, kind, state));
  });
});
