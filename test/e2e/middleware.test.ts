/** Middleware on the real server, over the SDK. */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import type { Wish } from "../fixtures/middleware/exits-graph.js";
import { EXIT_CASES, type ExitCase } from "../fixtures/middleware/exits-table.js";
import { pieces, respondWithSecret, SECRET } from "../fixtures/middleware/redacting-graph.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";
import { showRun } from "../support/stream-client.js";
import { shown } from "../support/stream-faults.js";
import { pairedMessagesOf, pairedScript, script, user } from "../support/thread.js";
import { titled } from "../support/titled.js";
import { readLog } from "./served.js";

const CONFIG = fileURLToPath(new URL("../fixtures/middleware/langgraph.json", import.meta.url));

let models: ModelServer;
let server: DevServer;
let directory: string;
let client: Client;

beforeAll(async () => {
  // The SDK prints the error of each failed run, and here many are to fail.
  vi.spyOn(console, "error").mockImplementation(() => {});
  const faultOf = ({ messages }: { messages: readonly { content?: string }[] }) =>
    messages[0]?.content === "break" ? ("after another text" as const) : undefined;
  models = await startModelServer(respondWithSecret(faultOf));
  directory = await mkdtemp(join(tmpdir(), "tether-middleware-"));
  const env = { OPENAI_BASE_URL: models.url, MIDDLEWARE_LOG: join(directory, "lines.log") };
  server = await startDevServer({ config: CONFIG, env });
  client = server.client;
});

afterAll(async () => {
  vi.restoreAllMocks();
  await server?.stop();
  await models?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function createThread(): Promise<string> {
  return (await client.threads.create()).thread_id;
}

async function valuesOf(threadId: string): Promise<{ messages?: unknown }> {
  return ((await client.threads.getState(threadId)).values ?? {}) as { messages?: unknown };
}

async function readMessages(threadId: string) {
  const values = await valuesOf(threadId);
  return values.messages === undefined ? [] : pairedMessagesOf(values);
}

describe.concurrent("served:", () => {
  const notesOf = (threadId: string) =>
    readLog(join(directory, "lines.log"))
      .filter((line) => line.startsWith(threadId))
      .map((line) => line.slice(threadId.length + 1));

  async function send(threadId: string, wish: Wish) {
    const before = notesOf(threadId).length;
    const run = await showRun(client, "exits", threadId, JSON.stringify(wish));
    const notes = notesOf(threadId).slice(before);
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
    const threadId = await createThread();
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
  const streamMode = [
    "values",
    "updates",
    "messages-tuple",
    "messages",
    "events",
    "debug",
    "custom",
    "tasks",
  ] as const;

  it.each(["go", "break"])("lets no secret through to a client or into a thread: %s", async (text) => {
    const threadId = await createThread();
    let all = "";
    const payload = {
      input: user(text),
      streamMode: [...streamMode, "checkpoints"] as never,
      streamSubgraphs: true,
    };
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
      const threadId = await createThread();
      const inThread = client.runs.wait(threadId, graph, { input: user("400") });
      const stateless = await client.runs.wait(null, graph, { input: user("0") });
      expect(pairedScript(stateless)).toEqual(["human: 0", "ai: waited 0"]);
      await inThread;
      expect(pairedScript(await valuesOf(threadId))).toEqual(["human: 400", "ai: waited 400"]);
    },
  );
});
