import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningScript, runScript } from "../scripts/run-script.js";

/** Why the native part of the SQLite checkpointer cannot be loaded here. Undefined if it can. */
const problem = await import("@langchain/langgraph-checkpoint-sqlite").then(
  ({ SqliteSaver }) => loadDatabase(() => SqliteSaver.fromConnString(":memory:")),
  (error: unknown) => String(error),
);

function loadDatabase(open: () => unknown): string | undefined {
  try {
    open();
    return undefined;
  } catch (error) {
    return String(error);
  }
}

interface ServerEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Sends a message to a thread and reads events up to the last one that the client wants. */
async function send(
  thread: string,
  content: string,
  isLast = ({ event }: ServerEvent) => event === "end",
): Promise<ServerEvent[]> {
  const hangUp = new AbortController();
  const response = await fetch(thread, {
    method: "POST",
    body: content,
    signal: hangUp.signal,
  });
  const events: ServerEvent[] = [];
  let received = "";
  for await (const piece of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    received += piece;
    const parts = received.split("\n\n");
    received = parts.pop() ?? "";
    events.push(...parts.map(readEvent));
    if (events.some(isLast)) break;
  }
  hangUp.abort();
  return events;
}

function readEvent(text: string): ServerEvent {
  const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
  return { event, data: JSON.parse(data) };
}

const wordsOf = (events: readonly ServerEvent[]) =>
  events.flatMap(({ event, data }) => (event === "ai" && data["text"] !== "" ? [data["text"]] : []));

/** With SLOW_TESTS a server is killed too. */
const SIGNALS =
  process.env["SLOW_TESTS"] === "1" ? (["SIGTERM", "SIGKILL"] as const) : (["SIGTERM"] as const);

const BATCH = 'call sky {"city": "Paris"} and call wait {"seconds": 600}';
const hasSky = ({ event, data }: ServerEvent) => event === "tool" && data["name"] === "sky";
/** The first events of a message after a run that was abandoned in the batch. */
const RECOVERY = [
  { event: "result-recovered", data: expect.objectContaining({ tool: "sky" }) },
  { event: "call-closed", data: expect.objectContaining({ tool: "wait", cause: "superseded" }) },
  {
    event: "tool",
    data: { id: expect.any(String), name: "sky", text: "Paris: clear sky", status: "success" },
  },
  { event: "tool", data: expect.objectContaining({ name: "wait", status: "error" }) },
];

describe.skipIf(problem !== undefined)(
  problem === undefined
    ? "the example of an HTTP server"
    : `the example of an HTTP server, skipped under Node ${process.version}: better-sqlite3 cannot be loaded`,
  { timeout: 60_000 },
  () => {
    let directory: string;
    let url: string;
    const servers: RunningScript[] = [];

    /** Starts a server on a file. */
    async function start(file: string): Promise<{ server: RunningScript; url: string }> {
      const env = { PORT: "0", DATABASE: join(directory, file) };
      const server = runScript("../examples/http-server.ts", [], env);
      servers.push(server);
      await server.hasPrinted("\n");
      return { server, url: server.output().trim() };
    }

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), "tether-http-"));
      ({ url } = await start("shared.sqlite"));
    }, 60_000);

    afterAll(async () => {
      for (const { child } of servers) child.kill("SIGKILL");
      await Promise.all(servers.map(({ ended }) => ended));
      await rm(directory, { recursive: true, force: true });
    });

    it("streams tokens, tool results and the end of a run", async () => {
      const events = await send(`${url}/threads/rome`, 'call sky {"city": "Rome"}');
      expect(wordsOf(events)).toEqual(["sky ", "returned: ", "Rome: ", "clear ", "sky"]);
      expect(events.flatMap(({ event }) => (event === "ai" ? [] : event))).toEqual([
        "tool",
        "run-end",
        "end",
      ]);
      const data = { id: expect.any(String), name: "sky", text: "Rome: clear sky", status: "success" };
      expect(events.find(hasSky)?.data).toEqual(data);
    });

    it("ends the run of a client that hangs up, and recovers the finished result with the next message", async () => {
      const thread = `${url}/threads/given-up`;
      const first = await send(thread, BATCH, hasSky);
      const second = await send(thread, "what did the tools return?");
      expect(second.slice(0, 4)).toEqual(RECOVERY);
      expect(second.find(hasSky)?.data["id"]).toBe(first.find(hasSky)?.data["id"]);
      expect(wordsOf(second).join("")).toContain("sky returned: Paris: clear sky");
      expect(second.at(-1)?.event).toBe("end");
    });

    it.each(SIGNALS)("continues a thread after a %s in the middle of a batch", async (signal) => {
      const first = await start(`${signal}.sqlite`);
      let isKilled = false;
      // A server that stops tells its client that the run has ended.
      await send(`${first.url}/threads/1`, BATCH, (event) => {
        if (hasSky(event) && !isKilled) isKilled = first.server.child.kill(signal);
        return signal === "SIGKILL" ? isKilled : event.event === "error";
      });
      expect(await first.server.ended).toBe(signal === "SIGKILL" ? null : 0);
      const second = await start(`${signal}.sqlite`);
      const events = await send(`${second.url}/threads/1`, "are you back?");
      expect(events.slice(0, 4)).toEqual(RECOVERY);
      expect(events.at(-1)?.event).toBe("end");
    });

    it("runs the messages of one thread one after the other", async () => {
      const thread = `${url}/threads/two-at-once`;
      await Promise.all([
        send(thread, 'call wait {"seconds": 0.2}'),
        send(thread, 'call sky {"city": "Oslo"}'),
      ]);
      const words = wordsOf(await send(thread, "what did the tools return?")).join("");
      expect(words).toContain("waited 0.2 s");
      expect(words).toContain("Oslo: clear sky");
    });

    it.each([
      ["another path", "/", "POST"],
      ["another method", "/threads/1", "GET"],
    ] as const)("answers 404 to %s", async (_, path, method) => {
      expect((await fetch(`${url}${path}`, { method })).status).toBe(404);
    });
  },
);
