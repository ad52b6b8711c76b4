/** Served graphs whose models are those of a provider, over the SDK: middleware, broken streams, and refusals. */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import type { Wish } from "../fixtures/middleware/exits-graph.js";
import { EXIT_CASES, type ExitCase } from "../fixtures/middleware/exits-table.js";
import { pieces, respondWithSecret, SECRET } from "../fixtures/middleware/redacting-graph.js";
import { allOf, eachOf } from "../support/async.js";
import { type ChatRequest, type ModelServer, startModelServer } from "../support/model-server.js";
import { showRun } from "../support/stream-client.js";
import {
  answerFor,
  FAULT_SAMPLE,
  FAULT_THREADS,
  type FaultThread,
  respondToWish,
  shown,
  wish,
} from "../support/stream-faults.js";
import {
  type Failure,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { titled } from "../support/test-tools.js";
import { pairedMessagesOf, pairedScript, script, user } from "../support/thread.js";
import { newThread, readLog } from "./served.js";

const CONFIG = fileURLToPath(new URL("../fixtures/middleware/langgraph.json", import.meta.url));
/** A model that, like some compatible servers, gives no finish reasons. */
const OMITS = "omits";
const KEY = "Recognisable0Key1Of2The3Test";

/** The graph `agent` asks this provider, and the others ask the other one. */
let strict: StrictProvider;
let models: ModelServer;
let server: DevServer;
let directory: string;
let client: Client;
/** The models of the requests of `agent` that were accepted. */
const asked: string[] = [];

function respond(request: ChatRequest) {
  const [first] = request.messages;
  if (first?.content?.startsWith("{")) return respondToWish("look")(request);
  return respondWithSecret(() => (first?.content === "break" ? "after another text" : undefined))(request);
}

beforeAll(async () => {
  // The SDK prints the error of each failed run, and here many are to fail.
  vi.spyOn(console, "error").mockImplementation(() => {});
  models = await startModelServer(respond);
  strict = await startStrictProvider(({ model, messages }) => {
    asked.push(model);
    return { text: `So be it: ${messages.at(-1)?.content}`, ...(model === OMITS && { finish: "" }) };
  });
  directory = await mkdtemp(join(tmpdir(), "tether-middleware-"));
  server = await startDevServer({
    config: CONFIG,
    env: {
      MODELS_URL: models.url,
      MIDDLEWARE_LOG: join(directory, "lines.log"),
      MODEL: "openai:gpt-5",
      MODELS: `openai:${OMITS}`,
      OPENAI_BASE_URL: `${strict.url("openai")}/v1`,
      OPENAI_API_KEY: KEY,
      // The address stands for that of OpenAI.
      DIALECT: "openai",
    },
  });
  client = server.client;
});

afterAll(async () => {
  vi.restoreAllMocks();
  await server?.stop();
  await models?.stop();
  await strict?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const linesOf = (beginning: string) =>
  readLog(join(directory, "lines.log")).flatMap((line) =>
    line.startsWith(`${beginning} `) ? line.slice(beginning.length + 1) : [],
  );

async function valuesOf(threadId: string): Promise<{ messages?: unknown }> {
  return ((await client.threads.getState(threadId)).values ?? {}) as { messages?: unknown };
}

async function readMessages(threadId: string) {
  const values = await valuesOf(threadId);
  return values.messages === undefined ? [] : pairedMessagesOf(values);
}

describe.concurrent("served:", () => {
  async function send(threadId: string, wish: Wish) {
    const before = linesOf(threadId).length;
    const run = await showRun(client, "exits", threadId, JSON.stringify(wish));
    const notes = linesOf(threadId).slice(before);
    const isRun = (line: string) => line.startsWith("run ");
    return {
      ...run,
      notes: {
        lines: notes.filter((line) => !isRun(line)).join(" "),
        runs: notes
          .filter(isRun)
          .map((line) => line.slice("run ".length))
          .toSorted(),
      },
    };
  }

  it.each(titled(EXIT_CASES))("%s", async (_title, { layer, exit, lines, runs, thread, fails }) => {
    const { thread_id: threadId } = await client.threads.create();
    const run = await send(threadId, { layer, exit });
    expect(String(run.failure)).toMatch(fails ? /thrown/ : /^undefined$/);
    expect(run.notes).toEqual({ lines, runs });
    const messages = await readMessages(threadId);
    expect(script(messages).slice(1)).toEqual(thread ?? []);
    expect(shown(run.messages)).toEqual(shown(messages));
    const kept = (await client.threads.get(threadId)).values as { messages?: unknown } | null;
    if (!fails) expect(script(pairedMessagesOf(kept))).toEqual(script(messages));

    const next = await send(threadId, {});
    const [first] = EXIT_CASES as [ExitCase];
    expect(next.failure).toBeUndefined();
    expect(next.notes).toEqual({ lines: first.lines, runs: first.runs });
    expect(script((await readMessages(threadId)).slice(messages.length + 1))).toEqual(first.thread);
  });
});

describe.concurrent("a redacting chat middleware", () => {
  const streamMode = "values updates messages-tuple messages events debug custom tasks checkpoints".split(
    " ",
  ) as never;

  it.each(["go", "break"])("lets no secret through to a client or into a thread: %s", async (text) => {
    const { thread_id: threadId } = await client.threads.create();
    let all = "";
    const payload = { input: user(text), streamMode, streamSubgraphs: true };
    for await (const part of client.runs.stream(threadId, "redacting", payload)) all += JSON.stringify(part);
    all += JSON.stringify(await client.threads.getHistory(threadId));
    all += JSON.stringify(await client.threads.get(threadId));
    const { messages } = await showRun(client, "redacting", threadId, text);
    all += JSON.stringify(messages);
    expect(all).toContain("[redacted]");
    expect(pieces(SECRET).filter((piece) => all.includes(piece))).toEqual([]);
    expect(pairedScript(await valuesOf(threadId))).toHaveLength(8);
  });
});

describe.concurrent("two runs at once", () => {
  it.each(["waiting", "waiting_factory"])(
    "of %s, one in a thread whose middleware waits and one stateless: the thread is complete",
    async (graph) => {
      const { thread_id: threadId } = await client.threads.create();
      const inThread = client.runs.wait(threadId, graph, { input: user("400") });
      const stateless = await client.runs.wait(null, graph, { input: user("0") });
      expect(pairedScript(stateless)).toEqual(["human: 0", "ai: waited 0"]);
      await inThread;
      expect(pairedScript(await valuesOf(threadId))).toEqual(["human: 400", "ai: waited 400"]);
    },
  );
});

interface Outcome {
  readonly client: readonly BaseMessage[];
  /** What the run has added to the thread. */
  readonly state: readonly BaseMessage[];
}

/** `test/wire/graph-broken-streams.test.ts` has the whole table without a server; here it is for `SLOW_TESTS=1`. */
const THREADS = process.env["SLOW_TESTS"] === "1" ? FAULT_THREADS : FAULT_SAMPLE;

describe("a served stream whose", () => {
  const outcomes = new Map<string, Outcome>();

  /** A thread with a first and a later turn that break. */
  async function converse(cases: FaultThread): Promise<void> {
    const { thread_id } = await client.threads.create();
    let known = 0;
    for (const fault of cases) {
      const { messages, failure } = await showRun(client, "forecasting", thread_id, wish(fault));
      if (failure !== undefined) throw failure;
      const state = await readMessages(thread_id);
      outcomes.set(fault.title, { client: messages, state: state.slice(known) });
      known = state.length;
    }
  }

  // As many at once as the server has workers.
  beforeAll(() => eachOf(THREADS, converse, 10));

  it.each(THREADS.flat())("$title: the SDK's client gets a whole response", ({ title, cities }) => {
    const { client, state } = outcomes.get(title) ?? { client: [], state: [] };
    expect(state.at(-1)?.text).toBe(answerFor(cities));
    expect(shown(client)).toEqual(shown(state));
    for (const city of cities) expect(linesOf("look").filter((name) => name === city)).toEqual([city]);
  });
});

it("No request is repeated for a missing finish reason, if the usage came.", async () => {
  const options = { context: { model: `openai:${OMITS}` } };
  const requests = () => asked.filter((model) => model === OMITS).length;
  await (await newThread(client, "agent")).send("One.", options);
  // The usage at its end shows that the stream is whole.
  expect(requests()).toBe(1);
  await (await newThread(client, "agent")).send("Two.", options);
  await (await newThread(client, "agent")).send("Three.", options);
  expect(requests()).toBe(3);
});

it("A refusal reaches the client with the provider's text; the key is not in it, the thread or the log.", async () => {
  const thread = await newThread(client, "agent");
  const message = `Incorrect API key provided: ${KEY}.`;
  strict.failNext({ status: 401, body: { error: { message, code: "invalid_api_key" } } });
  const events = await allOf(
    client.runs.stream(thread.id, thread.graph, {
      input: user("Hello."),
      streamMode: ["values", "messages-tuple", "custom", "debug", "events"],
    }),
  );
  expect(events.at(-1)).toMatchObject({
    event: "error",
    data: {
      error: "ModelError",
      message: "The provider refused the request with status 401: Incorrect API key provided: [redacted].",
    },
  });
  const history = await client.threads.getHistory(thread.id);
  expect(history).not.toEqual([]);
  expect(server.output()).toContain("status 401");
  expect(JSON.stringify([events, history, server.output()])).not.toContain(KEY);
  expect(await thread.send("Again.")).toEqual(["human: Hello.", "human: Again.", "ai: So be it: Again."]);
});

describe("What one thread sends touches no other:", () => {
  const text = "a few words of another user ".repeat(1_800);
  const screenshot = (data: string) => ({ type: "image", mimeType: "image/png", data });
  const PICTURE =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const LIMIT = "prompt is too long: 300000 tokens > 60 maximum";
  const quoted = `[{'type': 'string_type', 'msg': 'Input should be valid', 'input': '${LIMIT}'}]`;

  const requestOfAnother = async () => {
    await (await newThread(client, "agent")).send(text);
    return strict.lastRequest();
  };

  it.each<[title: string, content: unknown, failures: readonly Failure[]]>([
    [
      "a picture of 16,000 comments",
      [{ type: "text", text: "Look." }, screenshot(btoa("<!---->".repeat(16_000)))],
      [],
    ],
    [
      "two screenshots that are too large",
      [{ type: "text", text: "Look." }, screenshot(PICTURE), screenshot(PICTURE.replace("M9", "N9"))],
      [{ status: 413, body: { error: { message: "Request Entity Too Large" } } }],
    ],
    ["a provider's words", LIMIT, [{ status: 400, body: { error: { message: quoted } } }]],
    [
      "a refusal that the strict form cures",
      "Hello.",
      [refusal("tool_calls must be followed by tool messages")],
    ],
  ])("%s", async (_title, content, failures) => {
    const before = await requestOfAnother();
    const { id, graph } = await newThread(client, "agent");
    strict.failNext(...failures);
    const input = { messages: [{ role: "user", content }] };
    const run = client.runs.wait(id, graph, { input: input as never }).catch(() => {});
    expect((await fetch(`${server.url}/ok`)).status).toBe(200);
    await run;
    strict.failNext();
    expect(await requestOfAnother()).toEqual(before);
  });
});

function refusal(message: string): Failure {
  return { status: 400, body: { error: { message, type: "invalid_request_error" } } };
}
