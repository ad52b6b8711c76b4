/** What outlives a restart of the server: questions that wait, and all that others have when a user tries to damage it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeApiKey } from "../../scripts/api-key/make-api-key.js";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import { approve, edit, reject } from "../support/approval-graph.js";
import { nested } from "../support/foreign-values.js";
import type { Listening } from "../support/listen.js";
import { user as say } from "../support/thread.js";
import { newThread, readLog, Thread, until } from "./served.js";
import { AGENTS } from "./shared-servers.js";
import { startWeatherService } from "./weather-service.js";

const keys = { ann: makeApiKey("ann"), bob: makeApiKey("bob") };
const folder = await mkdtemp(join(tmpdir(), "tether-restart-"));
const TOOL_LOG = join(folder, "tools.log");
let weather: Listening;
let server: DevServer;

const start = () =>
  startDevServer({
    config: AGENTS,
    stateDirectory: folder,
    startTimeoutMs: 150_000,
    env: {
      MODEL: "offline:",
      TOOL_LOG,
      REQUIRE_APPROVAL: "save_note",
      AUTH_API_KEYS: `${keys.ann.entry},${keys.bob.entry}`,
      OPEN_METEO_GEOCODING_URL: weather.url,
      OPEN_METEO_FORECAST_URL: weather.url,
    },
  });
const clientOf = (user: keyof typeof keys) =>
  new Client({ apiUrl: server.url, apiKey: keys[user].key, callerOptions: { maxRetries: 0 } });
/** @param body JSON, or what is written as JSON. */
async function send(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { "content-type": "application/json", "x-api-key": keys.bob.key },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

beforeAll(async () => {
  weather = await startWeatherService();
  server = await start();
});
afterAll(async () => {
  await server?.stop();
  await weather?.stop();
  await rm(folder, { recursive: true, force: true });
});

const lc = (type: string, id: string[], fields: object = {}) => ({ lc: 1, type, id, ...fields });
const secret = lc("secret", ["OPENAI_API_KEY"]);
const ofCore = (name: string, kwargs: object) =>
  lc("constructor", ["langchain_core", "messages", name], { kwargs });
const reserved = (key: string) => JSON.parse(`{"${key}":1}`);
const item = (value: object) => ({ namespace: ["bob"], key: "k", value });
const run = (fields: object) => ({ assistant_id: "agent", ...fields });

/** Bob's requests. `T` is a thread of his. */
const damaging: readonly (readonly [request: string, body: unknown, says: RegExp])[] = [
  ["POST /threads", { metadata: { x: secret } }, /`metadata\.x`.*serialized form/],
  ["POST /threads", { metadata: { x: [{ __lc_escaped__: secret }] } }, /`metadata\.x\[0\]\.__lc_escaped__`/],
  [
    "PATCH /threads/T",
    { metadata: { x: lc("constructor", ["nowhere", "Class"], { kwargs: {} }) } },
    /`metadata\.x`/,
  ],
  ["POST /threads", { metadata: reserved("constructor") }, /`metadata\.constructor`/],
  ["PATCH /threads/T", { metadata: { x: reserved("__proto__") } }, /`metadata\.x\.__proto__`/],
  ["POST /threads", { metadata: { x: nested(46) } }, /levels deep/],
  ["PUT /store/items", item(reserved("prototype")), /`value\.prototype`/],
  ["PUT /store/items", item({ x: { ...secret, type: "not_implemented" } }), /`value\.x`/],
  ["PUT /store/items", item({ x: nested(45) }), /levels deep/],
  [
    "POST /assistants",
    { graph_id: "agent", config: { configurable: { x: secret } } },
    /`config\.configurable\.x`/,
  ],
  ["POST /assistants", { graph_id: "agent", context: { x: secret } }, /`context\.x`/],
  [
    "POST /threads/T/runs",
    run({ input: { messages: [ofCore("trimMessages", {})] } }),
    /`input\.messages\[0\]`/,
  ],
  [
    "POST /threads/T/runs",
    run({ input: { messages: [ofCore("HumanMessage", { content: "a", name: secret })] } }),
    /`input\.messages\[0\]\.kwargs\.name`/,
  ],
  ["POST /threads/T/runs/wait", run({ metadata: reserved("constructor") }), /`metadata\.constructor`/],
  ["POST /runs", run({ input: { ...say("hi"), x: secret } }), /`input\.x`/],
  ["POST /runs/batch", [run({ input: { ...say("hi"), x: secret } })], /`\[0\]\.input\.x`/],
  ["POST /runs/wait", run({ command: { resume: reserved("prototype") } }), /`command\.resume\.prototype`/],
  [
    "POST /threads/T/commands",
    { id: 1, method: "run.start", params: run({ input: secret }) },
    /`params\.input`/,
  ],
  [
    "POST /threads/T/state",
    { values: { messages: [{ role: "user", content: "a", additional_kwargs: secret }] } },
    /additional_kwargs`/,
  ],
  ["POST /threads/T/runs", run({ input: say("hi"), after_seconds: 1e15 }), /after_seconds/],
  ["POST /runs/batch", [run({ input: say("hi"), after_seconds: -1 })], /`\[0\]\.after_seconds`/],
  ["POST /threads", `{"metadata":{"a":${"[".repeat(9e6)}${"]".repeat(9e6)}}}`, /levels deep/],
];

it("refuses what would damage its files, and gives all threads and questions back after a restart", async () => {
  const [ann, bob] = [clientOf("ann"), clientOf("bob")];
  const kept = await ann.threads.create({ metadata: { mark: "before" } });
  await ann.store.putItem(["ann", "x"], "before", { mark: 1 });
  const thread = await newThread(bob, "agent");
  const answers = [];
  for (const [request, body, says] of damaging) {
    const [method = "", path = ""] = request.split(" ");
    const { status, text } = await send(method, path.replace("T", thread.id), body);
    if (status !== 422 || !says.test(text)) answers.push([request, says, status, text.slice(0, 300)]);
  }
  expect(answers).toEqual([]);
  // The form in which LangChain's clients send messages.
  expect(JSON.stringify(await thread.invoke([new HumanMessage("what is 20+22")]))).toContain("42");
  // The arguments of calls that wait for approval are kept as they are.
  for (const args of [
    '{"text":"a","x":[{"constructor":1}]}',
    '{"text":"a","prototype":1}',
    `{"x":${JSON.stringify(secret)}}`,
  ]) {
    const asked = await (await newThread(bob, "agent")).send(`call save_note ${args}`);
    expect(asked.slice(1)).toEqual([
      "ai> save_note",
      expect.stringContaining("were refused"),
      expect.anything(),
    ]);
  }
  const later = await ann.threads.create({ metadata: { mark: "after" } });
  await ann.store.putItem(["ann", "x"], "after", { mark: 2 });

  const waiting = await newThread(bob, "approving");
  const calls = ["deaf j1", "heedful free", "deaf j2", "deaf j3"].map((call) =>
    call.replace(/(\w+) (\w+)/, 'call $1 {"label": "$2"}'),
  );
  await waiting.invoke([{ role: "user", content: calls.join(" and ") }]);
  await waiting.resume(approve);

  await server.stop();
  server = await start();
  const found = await clientOf("ann").threads.search({ limit: 100 });
  expect(found.map(({ thread_id }) => thread_id).sort()).toEqual([kept.thread_id, later.thread_id].sort());
  const { items } = await clientOf("ann").store.searchItems(["ann"]);
  expect(items.map(({ key }) => key).sort()).toEqual(["after", "before"]);
  expect((await new Thread(clientOf("bob"), "agent", thread.id).send("what is 1+1")).join()).toContain("2");

  const asked = new Thread(clientOf("bob"), "approving", waiting.id);
  const { tasks } = await asked.client.threads.getState(asked.id);
  const requests = tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value));
  expect(requests).toMatchObject([
    { action_requests: [{ args: { label: "j2" } }, { args: { label: "j3" } }] },
  ]);
  await asked.resume(edit({ label: "j2-edited" }, "deaf"), reject());
  expect((await asked.script()).slice(2, 6)).toEqual([
    "tool: deaf done j1",
    "tool: heedful done free",
    "tool: deaf done j2-edited",
    "tool! Error: `deaf` was not approved, so it was not run.",
  ]);
  const ran = readLog(TOOL_LOG).filter((line) => line.startsWith("begin"));
  expect(ran.sort()).toEqual(["begin deaf:j1", "begin deaf:j2-edited", "begin heedful:free"]);
});

it("refuses to delete what a run needs, so that the runs of other users still start", async () => {
  const bob = clientOf("bob");
  const input = say("What is the weather in Slowtown?");
  for (let index = 0; index < 12; index += 1) {
    const { assistant_id } = await bob.assistants.create({ graphId: "agent" });
    const { thread_id } = await bob.threads.create();
    const { run_id } = await bob.runs.create(thread_id, assistant_id, { input });
    await until(async () => (await bob.runs.get(thread_id, run_id)).status === "running");
    // What another thread says of the run when its state is read does not count.
    const forging = (await bob.threads.create()).thread_id;
    const config = { configurable: { run_id, thread_id: forging, assistant_id: forging } };
    await bob.runs.create(forging, "agent", { input, config, afterSeconds: 1_000 });
    await bob.threads.getState(forging);
    await bob.threads.delete(forging);
    const paths = [
      `/assistants/${assistant_id}`,
      `/threads/${thread_id}`,
      `/threads/${thread_id}/runs/${run_id}`,
    ];
    const path = paths[index % 3] ?? "";
    const refused = await send("DELETE", path);
    expect([path, refused.status, refused.text]).toEqual([path, 409, expect.stringContaining("Cancel")]);
    await bob.runs.cancel(thread_id, run_id, true);
    expect((await send("DELETE", path)).status).toBeLessThan(300);
  }
  expect((await (await newThread(clientOf("ann"), "agent")).send("what is 20+22")).join()).toContain("42");
});

it("deletes the thread of a run that a restart has cut off", async () => {
  const { thread_id } = await clientOf("bob").threads.create();
  const input = say("What is the weather in Slowtown?");
  const { run_id } = await clientOf("bob").runs.create(thread_id, "agent", { input });
  await until(async () => (await clientOf("bob").runs.get(thread_id, run_id)).status === "running");
  await server.stop();
  server = await start();
  expect((await clientOf("bob").runs.get(thread_id, run_id)).status).toBe("running");
  const copy = await clientOf("bob").threads.copy(thread_id);
  expect((await new Thread(clientOf("bob"), "agent", copy.thread_id).send("what is 20+22")).join()).toContain(
    "42",
  );
  expect((await send("DELETE", `/threads/${thread_id}`)).status).toBe(204);
});
