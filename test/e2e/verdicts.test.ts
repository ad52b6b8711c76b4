/**
 * What the doctor and the inspector say of a server's threads, beside what their agents send next. Red: the next request
 * is refused. Green: it is sound. Everything else says that it is not known. `verdict-laws.test.ts` is the same over
 * databases and files.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import { run } from "../doctor/command/command-line.js";
import { AGENT_KINDS, type AgentKind, channelOf } from "../support/agent-kinds.js";
import { readLog, until } from "./served.js";

const folder = mkdtempSync(join(tmpdir(), "verdicts-"));
const SENT_LOG = join(folder, "sent.jsonl");
const LET_GO = join(folder, "let-go");

let server: DevServer;
beforeAll(async () => {
  const config = fileURLToPath(new URL("../fixtures/verdicts/langgraph.json", import.meta.url));
  server = await startDevServer({ config, env: { SENT_LOG, LET_GO } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** A thread. Each text of its user ends with its name. */
interface Case {
  readonly kind: AgentKind;
  readonly graph: string;
  readonly id: string;
}

const inputOf = ({ kind, id }: Case, text: string) => ({
  [channelOf(kind)]: [{ type: "human", content: `${text} ${id}` }],
});

const say = (given: Case, text: string) =>
  server.client.runs.wait(given.id, given.graph, { input: inputOf(given, text) });

/** Writes as another program does. */
async function write(given: Case, ...messages: readonly object[]): Promise<undefined> {
  await say(given, "hello");
  await server.client.threads.updateState(given.id, { values: { [channelOf(given.kind)]: messages } });
  return undefined;
}

const call = { type: "ai", id: "ai-c", content: "", tool_calls: [{ id: "c", name: "look", args: {} }] };
const result = { type: "tool", id: "tool-c", tool_call_id: "c", name: "look", content: "seen" };
const human = (id: string) => ({ type: "human", id, content: `text of ${id}` });
const text = { type: "ai", id: "a", content: "text of a" };

const requestsOf = (id: string): { readonly isRefused: boolean; readonly texts: string[] }[] =>
  readLog(SENT_LOG)
    .filter((line) => line.includes(id))
    .map((line) => JSON.parse(line));

/** A run in which one tool works, after the other one has returned. */
async function begin(given: Case): Promise<string> {
  const { run_id } = await server.client.runs.create(given.id, given.graph, {
    input: inputOf(given, "work"),
  });
  await until(() => requestsOf(given.id).some(({ texts }) => texts.at(-1)?.startsWith("work") === true));
  await until(async () => {
    const { tasks } = await server.client.threads.getState(given.id, undefined, { subgraphs: true });
    return tasks.length > 0;
  });
  return run_id;
}

const cancel = (id: string, run: string) => server.client.runs.cancel(id, run, true);

const STATES = {
  sound: async (given) => void (await say(given, "hello")),
  "cancelled in the middle of a tool": async (given): Promise<undefined> => {
    await cancel(given.id, await begin(given));
    await until(async () => (await server.client.threads.get(given.id)).status !== "busy");
  },
  "broken arguments": async (given) => void (await say(given, "break")),
  "a call that is cut from its result": (given) => write(given, human("h"), call, human("i"), text),
  "a result that is cut from its call": (given) => write(given, human("h"), result, text),
  "two results of one call": (given) =>
    write(given, human("h"), call, result, { ...result, id: "again" }, text),
  "waiting for a human": async (given) => void (await say(given, "ask")),
  "after a failure of the model": async (given) => void (await say(given, "fail").catch(() => {})),
  "whose run goes on": (given) => begin(given),
} satisfies Record<string, (given: Case) => Promise<string | undefined>>;

type State = keyof typeof STATES;

type Verdict = "red" | "green" | "unknown";

async function verdictOfCommand(id: string): Promise<Verdict> {
  const { code, output } = await run(["doctor", "--url", server.url, "--thread", id, "--format", "json"]);
  const found: string[] = JSON.parse(output).threads.flatMap(
    ({ findings }: { findings: { severity: string }[] }) => findings.map(({ severity }) => severity),
  );
  if (found.includes("error")) expect(code).toBe(1);
  return found.includes("error") ? "red" : code === 0 ? "green" : "unknown";
}

async function verdictOfPages(id: string): Promise<Verdict> {
  const page = await (await fetch(`${server.url}/tether/threads/${id}`)).text();
  const story = /<section class="panel story".*?<\/section>/s.exec(page)?.[0] ?? "";
  if (/"bad-text">[^<]* refuse the next message/.test(story)) return "red";
  return (await (await fetch(`${server.url}/tether?q=${id}`)).text()).includes("chip good")
    ? "green"
    : "unknown";
}

async function isRefusedNext(given: Case, state: State): Promise<boolean> {
  const sent = requestsOf(given.id).length;
  const { runs } = server.client;
  if (state === "waiting for a human") await runs.wait(given.id, given.graph, { command: { resume: "yes" } });
  else await say(given, "go on");
  const requests = requestsOf(given.id).slice(sent);
  expect(requests).not.toEqual([]);
  return requests.some(({ isRefused }) => isRefused);
}

const KEEPS_ELSEWHERE: AgentKind = "a subgraph with a memory of its own";

async function expectTrue(kind: AgentKind, state: State): Promise<void> {
  const graph = `kind_${AGENT_KINDS.indexOf(kind)}`;
  const { thread_id: id } = await server.client.threads.create({ graphId: graph });
  const given = { kind, graph, id };
  const running = await STATES[state](given);
  const said = { doctor: await verdictOfCommand(id), page: await verdictOfPages(id) };
  if (running !== undefined) {
    expect(said).toEqual({ doctor: "unknown", page: "unknown" });
    // A server has few workers.
    await cancel(id, running);
    return;
  }
  const isRefused = await isRefusedNext(given, state);
  if (kind === KEEPS_ELSEWHERE) {
    // A server does not tell which subgraphs have a memory.
    const { output } = await run(["doctor", "--url", server.url, "--thread", id]);
    expect(output).toMatch(/does not show the states that subgraphs keep/);
    return;
  }
  const wrong = expect.not.stringMatching(isRefused ? "green" : "red");
  expect({ isRefused, ...said }).toEqual({ isRefused, doctor: wrong, page: wrong });
}

describe.concurrent("what is said of a thread on a server", () => {
  // The tools of cancelled runs still wait.
  afterAll(() => writeFileSync(LET_GO, ""));

  describe.each(AGENT_KINDS)("of %s", (kind) => {
    it.each(Object.keys(STATES) as State[])("%s, is what is sent", (state) => expectTrue(kind, state));
  });
});
