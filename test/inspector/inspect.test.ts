/** `langgraph-tether inspect`: the pages of threads that other agents have stored, for one browser of this machine. */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { AIMessage, type AIMessageFields } from "@langchain/core/messages";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  tool,
} from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createModel } from "../../src/index.js";
import { makeFolder, run } from "../doctor/command/command-line.js";
import { HOSTILE_TEXT, hostileMessages } from "../e2e/inspector/hostile-thread.js";
import { archiving } from "../fixtures/long-thread/graph.js";
import { type AgentName, createDeployedAgent } from "../support/deployment/agents.js";
import { workText } from "../support/deployment/strict-worker.js";
import { listen } from "../support/listen.js";
import { FunctionModel } from "../support/models.js";
import { accessibilityFaults, BROWSER, NEEDS_BROWSER, openBrowser } from "../support/open-browser.js";
import { DATABASE_URL } from "../support/savers.js";
import { inThread, user } from "../support/thread.js";

const GRAPHS = join(import.meta.dirname, "../fixtures/deployment/graphs.ts");
const AGENTS = ["langchain", "delta", "react", "deep"] as const satisfies readonly AgentName[];

/** Runs the command until the test has ended. Returns the address that it prints. */
async function inspect(...args: string[]): Promise<URL> {
  const ending = new AbortController();
  let print: (text: string) => void = () => {};
  const printed = new Promise<string>((resolve) => {
    print = resolve;
  });
  const output = { isTerminal: false, write: async (text: string) => print(text) };
  const ended = run(["inspect", ...args], { output, signal: ending.signal, folder: import.meta.dirname });
  onTestFinished(async () => {
    ending.abort();
    expect(await ended).toMatchObject({ code: 0, errors: "" });
  });
  const told = await Promise.race([printed, ended.then(({ errors }) => errors)]);
  return new URL(/http:\S+key=\S+/.exec(told)?.[0] ?? told);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** Node's `fetch` sets no `host`. */
async function ask(
  { hostname: host, port }: URL,
  path: string,
  headers = {},
  method = "GET",
): Promise<Answer> {
  const sent = request({ host, port, path, headers, method }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await text(response), headers: response.headers };
}

/** Opens the printed address, as the first. Returns what the browser sends from then on. */
async function cookieOf(address: URL): Promise<string> {
  const { status, headers } = await ask(address, `/${address.search}`);
  const [cookie] = headers["set-cookie"] ?? [];
  expect([status, headers["location"], cookie]).toEqual([
    303,
    "/tether",
    expect.stringMatching(/; HttpOnly; SameSite=Strict$/),
  ]);
  return String(cookie).split(";")[0] ?? "";
}

async function enter(address: URL): Promise<(path: string) => Promise<Answer>> {
  const cookie = await cookieOf(address);
  return (path) => ask(address, path, { cookie });
}

function fileOf(...lists: readonly (readonly object[])[]): string {
  const file = join(makeFolder(), "threads.jsonl");
  writeFileSync(file, lists.map((list) => JSON.stringify(list)).join("\n"));
  return file;
}

const HELLO = [{ type: "human", id: "h", content: "Hello there" }];

describe("the pages of `inspect`", () => {
  it("are for who opens the printed address first, and for nobody else, and only read", async () => {
    const address = await inspect("--file", fileOf(HELLO));
    const key = `/${address.search}`;
    const statusOf = async (...given: [path: string, headers?: object, method?: string]) =>
      (await ask(address, ...given)).status;
    expect(await statusOf("/tether")).toBe(401);
    expect(await statusOf("/?key=wrong")).toBe(401);
    expect(await statusOf(key, {}, "HEAD")).toBe(401);
    const cookie = await cookieOf(address);
    expect(await statusOf(key)).toBe(401);
    expect(await statusOf("/tether", { cookie: `${cookie}x` })).toBe(401);
    const page = await ask(address, "/tether", { cookie: `other=1; ${cookie}` });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("Hello there")]);
    expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'/);
    for (const method of ["POST", "PUT", "DELETE", "PATCH"])
      expect(await statusOf("/tether", { cookie }, method)).toBe(405);
    expect(await ask(address, "/tether", { cookie }, "HEAD")).toMatchObject({ status: 200, text: "" });
  });

  it("refuse another host, another port and pages of other sites, also with the key", async () => {
    const address = await inspect("--file", fileOf(HELLO));
    for (const headers of [
      { host: "evil.example" },
      { host: "127.0.0.1:1" },
      { origin: "https://evil.example" },
      { origin: "http://127.0.0.1:3000" },
      { origin: "null" },
    ])
      for (const path of [`/${address.search}`, "/tether"]) {
        const answer = await ask(address, path, headers);
        expect([headers, answer.status]).toEqual([headers, 403]);
        expect(answer.headers["set-cookie"]).toBeUndefined();
      }
    await enter(address);
  });

  it("say what is wrong with a target before they are served", async () => {
    expect(await run(["inspect"])).toMatchObject({ code: 2, errors: expect.stringContaining("--url") });
    expect(await run(["inspect", "--file", "none.json"])).toMatchObject({ code: 2 });
  });

  it("say which port is used, and blame nobody else", async () => {
    const { url, stop } = await listen(createServer());
    onTestFinished(stop);
    const { port } = new URL(url);
    const { code, errors } = await run(["inspect", "--file", fileOf(HELLO), "--port", port]);
    expect([code, errors]).toEqual([
      2,
      `Port ${port} of --port is used by another program. Name another one, or leave --port out for a free one.\n`,
    ]);
  });

  it.each([304, 429, 999])("go on after a server has answered with status %i, and say so", async (status) => {
    let isWell = true;
    const server = createServer((_, response) => {
      response.writeHead(isWell ? 200 : status).end("[]");
    });
    const { url, stop } = await listen(server);
    onTestFinished(stop);
    const get = await enter(await inspect("--url", url));
    isWell = false;
    const { text: page, ...answer } = await get("/tether");
    expect([answer.status, page]).toEqual([500, expect.stringContaining(`HTTP ${status}`)]);
    expect(page).toContain("The threads cannot be read");
    isWell = true;
    expect((await get("/tether")).status).toBe(200);
  });

  it("show each list of a file, and 404 for another thread", async () => {
    const get = await enter(await inspect("--file", fileOf(HELLO, hostileMessages())));
    const { threads } = JSON.parse((await get("/tether/threads.json")).text);
    expect(threads).toMatchObject([{ threadId: "threads.jsonl:1" }, { threadId: "threads.jsonl:2" }]);
    expect((await get("/tether/threads/threads.jsonl%3A1")).text).toContain("Hello there");
    for (const path of ["threads/threads.jsonl%3A3", "else"])
      expect((await get(`/tether/${path}`)).status).toBe(404);
  });
});

/** Writes two threads of an agent: one has answered, one waits for a human. */
async function work(agent: AgentName, saver: SqliteSaver | PostgresSaver): Promise<void> {
  const graph = createDeployedAgent(agent, saver);
  for (const [thread, name] of Object.entries({ answered: "search", waiting: "pay" })) {
    const words = workText([{ id: `c-${thread}`, name, args: {} }]);
    await graph.invoke(user(words, `h-${thread}`), inThread(`${agent}-${thread}`)).catch(() => {});
  }
}

/** Looks at the list and at each thread and step of an agent. */
async function look(agent: AgentName, ...target: string[]): Promise<void> {
  const get = await enter(await inspect(...target));
  const read = async (path: string) => {
    const { status, text } = await get(path);
    expect([path, status]).toEqual([path, 200]);
    return JSON.parse(text);
  };
  const { threads } = await read("/tether/threads.json");
  // The one that was changed last comes first.
  const [waiting, answered] = [{ threadId: `${agent}-waiting` }, { threadId: `${agent}-answered` }];
  expect(threads).toMatchObject([waiting, answered]);
  expect((await read("/tether/threads.json?q=answered")).threads).toHaveLength(1);
  const page = await get(`/tether/threads/${agent}-answered`);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("c-answered")]);
  const thread = await read(`/tether/threads/${agent}-answered.json`);
  expect(thread).toMatchObject({ outcome: "sound", threadId: `${agent}-answered` });
  expect(thread.input.length).toBeGreaterThanOrEqual(4);
  // The step of an input has no list of messages yet in PostgreSQL.
  for (const { number, findings } of thread.steps)
    if (number >= 0) expect([number, findings]).toEqual([number, 0]);
  const asked = thread.steps.filter(({ asksModel }: { asksModel: boolean }) => asksModel);
  expect(asked.length).toBeGreaterThanOrEqual(2);
  const query = `step=${asked.at(-1).checkpointId}&dialect=mistral`;
  const first = await read(`/tether/threads/${agent}-answered.json?${query}`);
  expect(first).toMatchObject({ messages: 4, request: { dialect: "mistral", stored: 1 } });
  for (const missing of [`${agent}-answered?step=00000000-0000-4000-8000-000000000000`, "none"])
    expect((await get(`/tether/threads/${missing}`)).status).toBe(404);
}

describe.each(AGENTS)("`inspect` on a database of the agent %s", (agent) => {
  it("shows its threads in SQLite", async () => {
    const file = join(makeFolder(), "threads.db");
    const saver = SqliteSaver.fromConnString(file);
    await work(agent, saver);
    saver.db.close();
    await look(agent, "--sqlite", file, "--graph", `${GRAPHS}:${agent}`);
    // In a folder without langgraph.json, nobody names the graph.
    await look(agent, "--sqlite", file);
  });

  it.runIf(DATABASE_URL !== undefined)("shows its threads in PostgreSQL", async () => {
    const schema = `inspect_${agent}_${process.pid}`;
    const saver = PostgresSaver.fromConnString(DATABASE_URL ?? "", { schema });
    onTestFinished(() => saver.end());
    await saver.setup();
    await work(agent, saver);
    const place = ["--postgres", DATABASE_URL ?? "", "--schema", schema];
    await look(agent, ...place, "--graph", `${GRAPHS}:${agent}`);
    await look(agent, ...place);
  });
});

it.runIf(DATABASE_URL !== undefined)("opens an archive in PostgreSQL", async () => {
  const schema = `inspect_archive_${process.pid}`;
  const checkpointer = PostgresSaver.fromConnString(DATABASE_URL ?? "", { schema });
  onTestFinished(() => checkpointer.end());
  await checkpointer.setup();
  const graph = archiving({ checkpointer });
  for (const word of ["first", "second", "third"])
    await graph.invoke(user(`${word} ${"word ".repeat(300)}`), inThread("a 1"));
  const get = await enter(await inspect("--postgres", DATABASE_URL ?? "", "--schema", schema));
  expect((await get("/tether/threads/a%201")).text).toMatch(/of the archive<.*first word word/s);
});

it("tells of a database without its graph what is asked, what failed, and how to repair", async () => {
  const file = join(makeFolder(), "threads.db");
  const checkpointer = SqliteSaver.fromConnString(file);
  const model = await createModel("offline:");
  const pay = tool(async () => "paid", { name: "pay", schema: z.object({ amount: z.number() }) });
  const look = tool(() => new Promise<string>(() => {}), { name: "look", schema: z.object({}) });
  const approvals = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never);
  const broken = createMiddleware({
    name: "Broken",
    beforeModel: () => {
      throw new Error("The bank is closed.");
    },
  });
  const base = { model, tools: [pay, look], checkpointer };
  const agent = createAgent({ ...base, middleware: [approvals as unknown as AgentMiddleware] });
  const failing = createAgent({ ...base, middleware: [broken] });
  await agent.invoke(user('call pay {"amount": 10}'), inThread("waiting"));
  await expect(failing.invoke(user("Hello"), inThread("failed"))).rejects.toThrow("The bank is closed.");
  const signal = AbortSignal.timeout(500);
  await expect(agent.invoke(user("call look"), { ...inThread("cut"), signal })).rejects.toThrow();
  await agent.graph.updateState(inThread("empty"), { messages: [] });
  checkpointer.db.close();
  const get = await enter(await inspect("--sqlite", file, "--quiet-for", "0s"));
  const read = async (thread: string) => (await get(`/tether/threads/${thread}`)).text;
  const waiting = await read("waiting");
  expect(waiting).toMatch(/What is asked<.*<bdi>pay<.*amount.{1,8}:10.*Decisions:.*approve/s);
  expect(waiting).not.toContain("Args:");
  expect(waiting).not.toContain("\\u000a");
  expect(await read("failed")).toMatch(/The last run failed\..*The bank is closed\./);
  const cut = await read("cut");
  expect(cut).toMatch(/repair --sqlite .*threads\.db --graph FILE:EXPORT --quiet-for 0s --thread cut</);
  // The messages stand on the first screen.
  expect(cut).toContain('<details class="panel"><summary>What the doctor finds');
  expect(await read("empty")).toContain("The thread is empty.");
});

it("lists the threads of a database by finding and by age, and counts them", async () => {
  const file = join(makeFolder(), "threads.db");
  const checkpointer = SqliteSaver.fromConnString(file);
  const usage_metadata = { input_tokens: 1_200, output_tokens: 34, total_tokens: 1_234 };
  const model = new FunctionModel(
    () => new AIMessage({ content: "Yes.", usage_metadata } as AIMessageFields),
  );
  const { graph } = createAgent({ model, tools: [], checkpointer });
  const names = Array.from({ length: 25 }, (_, index) => `t${index}`);
  for (const name of names) await graph.invoke(user("Hello"), inThread(name));
  const tool_calls = [{ id: "c1", name: "look", args: {}, type: "tool_call" as const }];
  const broken = [new AIMessage({ id: "a", content: "", tool_calls }), ...user("Are you there?").messages];
  await graph.updateState(inThread("t7"), { messages: broken }, "model_request");
  checkpointer.db.close();
  const get = await enter(await inspect("--sqlite", file, "--quiet-for", "0s"));
  const read = async (query: string) => {
    const list = JSON.parse((await get(`/tether.json?${query}`)).text);
    return { ...list, ids: list.threads.map(({ threadId }: { threadId: string }) => threadId) };
  };
  const [latest, earlier] = [await read(""), await read("page=2")];
  expect(latest).toMatchObject({ count: 25, hasNext: true });
  expect(latest.ids.slice(0, 3)).toEqual(["t7", "t24", "t23"]);
  expect(latest.threads[1]).toMatchObject({ tokens: 1_234, createdAt: expect.stringMatching(/^\d{4}-/) });
  expect(earlier).toMatchObject({ count: 25, hasNext: false, ids: ["t4", "t3", "t2", "t1", "t0"] });
  expect((await read("sort=created")).ids[0]).toBe("t24");
  for (const query of ["has=pairing/dangling-call", "has=errors", "has=findings", "q=are+you+there"])
    expect([query, await read(query)]).toMatchObject([query, { ids: ["t7"], count: 1 }]);
  expect(await read("has=pairing/orphan-result")).toMatchObject({ ids: [] });
  const page = (await get("/tether")).text;
  expect(page).toContain("Page 1 of 25 threads");
  expect(page).toContain('<a href="/tether?has=pairing%2Fdangling-call">pairing/dangling-call</a>');
});

it("finds the threads of a database that wait for a human by reading them", async () => {
  const file = join(makeFolder(), "threads.db");
  const saver = SqliteSaver.fromConnString(file);
  await work("langchain", saver);
  saver.db.close();
  const get = await enter(await inspect("--sqlite", file, "--graph", `${GRAPHS}:langchain`));
  const { threads } = JSON.parse((await get("/tether/threads.json?status=interrupted")).text);
  expect(threads).toMatchObject([{ threadId: "langchain-waiting", status: "interrupted" }]);
});

it.skipIf(BROWSER === undefined)(
  `in a browser, a hostile file is shown as text, without faults${NEEDS_BROWSER}`,
  async () => {
    const browser = await openBrowser();
    onTestFinished(() => browser.close());
    const page = await (await browser.newContext({ bypassCSP: true })).newPage();
    const ran: string[] = [];
    await page.exposeFunction("ran", (place: string) => ran.push(place));
    const expectNoFaults = async () => {
      for (const [colorScheme, width] of [
        ["light", 1440],
        ["dark", 1280],
        ["light", 390],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        expect([colorScheme, width, await accessibilityFaults(page)]).toEqual([colorScheme, width, []]);
        expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
      }
    };
    await page.goto((await inspect("--file", fileOf(hostileMessages()))).href);
    expect(new URL(page.url()).pathname).toBe("/tether");
    await expectNoFaults();
    await page.locator("a.title").click();
    await page.waitForURL(/thread/);
    await page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true");
    expect(await page.locator("main script, img, textarea, iframe, [onerror]").count()).toBe(0);
    expect(await page.locator("main").innerText()).toContain(HOSTILE_TEXT);
    await expectNoFaults();
    expect(ran).toEqual([]);
  },
);
