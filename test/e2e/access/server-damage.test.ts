/** What one user sends to a server of many: nothing of it takes away what the others have, or stops their runs. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type DevServer, startDevServer } from "../../../scripts/dev-server.js";
import { makeApiKey } from "../../../server/access/authenticate.js";
import { nested } from "../../support/foreign-values.js";
import { user as say } from "../../support/thread.js";
import { Thread, until } from "../served.js";
import { startWeatherService, type WeatherService } from "../weather-service.js";

const keys = { ann: makeApiKey("ann"), bob: makeApiKey("bob") };
let folder: string;
let weather: WeatherService;
let server: DevServer;

const start = () =>
  startDevServer({
    stateDirectory: folder,
    startTimeoutMs: 150_000,
    env: {
      MODEL: "offline:",
      REQUIRE_APPROVAL: "save_note",
      AUTH_API_KEYS: `${keys.ann.entry},${keys.bob.entry}`,
      OPEN_METEO_GEOCODING_URL: weather.url,
      OPEN_METEO_FORECAST_URL: weather.url,
    },
  });
const clientOf = (user: keyof typeof keys) =>
  new Client({ apiUrl: server.url, apiKey: keys[user].key, callerOptions: { maxRetries: 0 } });
/** @param body JSON, or what is written as JSON. */
async function send(user: keyof typeof keys, method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { "content-type": "application/json", "x-api-key": keys[user].key },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tether-damage-"));
  weather = await startWeatherService();
  server = await start();
});
afterAll(async () => {
  await server.stop();
  await weather.stop();
  await rm(folder, { recursive: true, force: true });
});

const secret = { lc: 1, type: "secret", id: ["OPENAI_API_KEY"] };
const hidden = { __lc_escaped__: secret };
const unknown = { lc: 1, type: "constructor", id: ["nowhere", "Class"], kwargs: {} };
const noClass = {
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", "trimMessages"],
  kwargs: {},
};
const messageWith = (kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", "HumanMessage"],
  kwargs: { content: "a", ...kwargs },
});
const reserved = (key: string) => JSON.parse(`{"${key}":1}`);
const long = Array.from({ length: 10_001 }, () => "a");

/** Bob's requests. `T` is a thread of his. */
const damaging: readonly (readonly [method: string, path: string, body: unknown, says: RegExp])[] = [
  ["POST", "/threads", { metadata: { x: secret } }, /`metadata\.x`.*serialized form/],
  ["POST", "/threads", { metadata: { x: [hidden] } }, /`metadata\.x\[0\]\.__lc_escaped__`/],
  ["PATCH", "/threads/T", { metadata: { x: unknown } }, /`metadata\.x`/],
  ["POST", "/threads", { metadata: reserved("constructor") }, /`metadata\.constructor`/],
  ["PATCH", "/threads/T", { metadata: { x: reserved("__proto__") } }, /`metadata\.x\.__proto__`/],
  ["POST", "/threads", { metadata: { x: nested(46) } }, /levels deep/],
  [
    "PUT",
    "/store/items",
    { namespace: ["bob"], key: "k", value: reserved("prototype") },
    /`value\.prototype`/,
  ],
  [
    "PUT",
    "/store/items",
    { namespace: ["bob"], key: "k", value: { x: { ...secret, type: "not_implemented" } } },
    /`value\.x`/,
  ],
  ["PUT", "/store/items", { namespace: ["bob"], key: "k", value: { x: nested(45) } }, /levels deep/],
  [
    "POST",
    "/assistants",
    { graph_id: "agent", config: { configurable: { x: secret } } },
    /`config\.configurable\.x`/,
  ],
  ["POST", "/assistants", { graph_id: "agent", context: { x: secret } }, /`context\.x`/],
  [
    "POST",
    "/threads/T/runs",
    { assistant_id: "agent", input: { messages: [noClass] } },
    /`input\.messages\[0\]`/,
  ],
  [
    "POST",
    "/threads/T/runs",
    { assistant_id: "agent", input: { messages: [messageWith({ name: secret })] } },
    /`input\.messages\[0\]\.kwargs\.name`/,
  ],
  [
    "POST",
    "/threads/T/runs/wait",
    { assistant_id: "agent", metadata: reserved("constructor") },
    /`metadata\.constructor`/,
  ],
  ["POST", "/runs", { assistant_id: "agent", input: { ...say("hi"), x: secret } }, /`input\.x`/],
  [
    "POST",
    "/runs/batch",
    [{ assistant_id: "agent", input: { ...say("hi"), x: secret } }],
    /`\[0\]\.input\.x`/,
  ],
  [
    "POST",
    "/runs/wait",
    { assistant_id: "agent", command: { resume: reserved("prototype") } },
    /`command\.resume\.prototype`/,
  ],
  [
    "POST",
    "/threads/T/commands",
    { id: 1, method: "run.start", params: { assistant_id: "agent", input: secret } },
    /`params\.input`/,
  ],
  [
    "POST",
    "/threads/T/state",
    { values: { messages: [{ role: "user", content: "a", additional_kwargs: secret }] } },
    /additional_kwargs`/,
  ],
  [
    "POST",
    "/threads/T/runs",
    { assistant_id: "agent", input: say("hi"), after_seconds: 1e15 },
    /after_seconds/,
  ],
  ["POST", "/threads", `{"metadata":{"a":${"[".repeat(9e6)}${"]".repeat(9e6)}}}`, /levels deep/],
  [
    "POST",
    "/threads",
    { metadata: { x: Array.from({ length: 201 }, () => long.slice(0, 1000)) } },
    /200000 values/,
  ],
  ["POST", "/runs/wait", { assistant_id: "agent", input: { messages: long } }, /`input\.messages`.*10000/],
];

it("refuses what would damage the server's files, so that the threads of other users outlive a restart", async () => {
  const ann = clientOf("ann");
  const kept = await ann.threads.create({ metadata: { mark: "before" } });
  await ann.store.putItem(["ann", "x"], "before", { mark: 1 });
  const bobs = await clientOf("bob").threads.create();
  const answers = [];
  for (const [method, path, body, says] of damaging) {
    const { status, text } = await send("bob", method, path.replace("T", bobs.thread_id), body);
    if (![413, 422].includes(status) || !says.test(text))
      answers.push([method, path, says, status, text.slice(0, 300)]);
  }
  expect(answers).toEqual([]);
  // The form in which LangChain's clients send messages.
  const thread = new Thread(clientOf("bob"), "agent", bobs.thread_id);
  const sent = await thread.client.runs.wait(thread.id, "agent", {
    input: { messages: [new HumanMessage("what is 20+22")] },
  });
  expect(JSON.stringify(sent)).toContain("42");
  // The arguments of calls that wait for approval are kept as they are.
  for (const args of [
    '{"text":"a","x":[{"constructor":1}]}',
    '{"text":"a","prototype":1}',
    `{"x":${JSON.stringify(secret)}}`,
  ]) {
    const { thread_id } = await thread.client.threads.create();
    const asked = await new Thread(thread.client, "agent", thread_id).send(`call save_note ${args}`);
    expect(asked.slice(1)).toEqual([
      "ai> save_note",
      expect.stringContaining("were refused"),
      expect.anything(),
    ]);
  }
  const later = await ann.threads.create({ metadata: { mark: "after" } });
  await ann.store.putItem(["ann", "x"], "after", { mark: 2 });

  await server.stop();
  server = await start();
  const found = await clientOf("ann").threads.search({ limit: 100 });
  expect(found.map(({ thread_id }) => thread_id).sort()).toEqual([kept.thread_id, later.thread_id].sort());
  const { items } = await clientOf("ann").store.searchItems(["ann"]);
  expect(items.map(({ key }) => key).sort()).toEqual(["after", "before"]);
  expect((await new Thread(clientOf("bob"), "agent", thread.id).send("what is 1+1")).join()).toContain("2");
});

it("refuses to delete what a run needs, so that the runs of other users still start", async () => {
  const bob = clientOf("bob");
  const input = say("What is the weather in Slowtown?");
  for (let index = 0; index < 12; index += 1) {
    const { assistant_id } = await bob.assistants.create({ graphId: "agent" });
    const { thread_id } = await bob.threads.create();
    const { run_id } = await bob.runs.create(thread_id, index % 4 === 0 ? "agent" : assistant_id, { input });
    await until(async () => (await bob.runs.get(thread_id, run_id)).status === "running");
    if (index % 4 === 0) await bob.threads.update(thread_id, { metadata: { assistant_id } });
    const path =
      [
        `/assistants/${assistant_id}?delete_threads=true`,
        `/assistants/${assistant_id}`,
        `/threads/${thread_id}`,
        `/threads/${thread_id}/runs/${run_id}`,
      ][index % 4] ?? "";
    const refused = await send("bob", "DELETE", path);
    expect([path, refused.status, refused.text]).toEqual([path, 409, expect.stringContaining("Cancel")]);
    await bob.runs.cancel(thread_id, run_id, true);
    expect((await send("bob", "DELETE", path)).status).toBeLessThan(300);
  }
  const ann = clientOf("ann");
  const { thread_id } = await ann.threads.create();
  expect((await new Thread(ann, "agent", thread_id).send("what is 20+22")).join()).toContain("42");
});
