import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningScript, runScript } from "../scripts/run-script.js";

/** Why the native part of the SQLite checkpointer cannot be loaded here. Undefined if it can. */
const problem = await import("@langchain/langgraph-checkpoint-sqlite")
  .then(({ SqliteSaver }) => void SqliteSaver.fromConnString(":memory:"))
  .catch(String);

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
  const response = await fetch(thread, { method: "POST", body: content, signal: hangUp.signal });
  const events: ServerEvent[] = [];
  let received = "";
  for await (const piece of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    received += piece;
    const parts = received.split("\n\n");
    received = parts.pop() ?? "";
    for (const part of parts) {
      const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
      events.push({ event, data: JSON.parse(data) });
    }
    if (events.some(isLast)) break;
  }
  hangUp.abort();
  return events;
}

const wordsOf = (events: readonly ServerEvent[]) =>
  events.flatMap(({ event, data }) => (event === "ai" && data["text"] !== "" ? [data["text"]] : []));

/** With SLOW_TESTS a server is killed too. */
const SIGNALS =
  process.env["SLOW_TESTS"] === "1" ? (["SIGTERM", "SIGKILL"] as const) : (["SIGTERM"] as const);

const BATCH = 'call sky {"city": "Paris"} and call wait {"seconds": 600}';
const hasSky = ({ event, data }: ServerEvent) => event === "tool" && data["name"] === "sky";
const skyOf = (city: string) => ({
  id: expect.any(String),
  name: "sky",
  text: `${city}: clear sky`,
  status: "success",
});
/** The first events of a message after a run that was abandoned in the batch. */
const RECOVERY = [
  { event: "result-recovered", data: expect.objectContaining({ tool: "sky" }) },
  { event: "call-closed", data: expect.objectContaining({ tool: "wait", cause: "superseded" }) },
  { event: "tool", data: skyOf("Paris") },
  { event: "tool", data: expect.objectContaining({ name: "wait", status: "error" }) },
];

describe.skipIf(problem !== undefined)(
  `the example of an HTTP server${problem === undefined ? "" : `, skipped: better-sqlite3 cannot be loaded`}`,
  () => {
    let directory: string;
    let server: RunningScript;
    let url: string;

    async function start(): Promise<void> {
      server = runScript("../examples/http-server.ts", [], {
        PORT: "0",
        DATABASE: join(directory, "threads.sqlite"),
      });
      await server.hasPrinted("\n");
      url = server.output().trim();
    }

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), "tether-http-"));
      await start();
    });

    afterAll(async () => {
      server.child.kill("SIGKILL");
      await server.ended;
      await rm(directory, { recursive: true, force: true });
    });

    it("streams tokens, tool results and the end of a run", async () => {
      const events = await send(`${url}/threads/rome`, 'call sky {"city": "Rome"}');
      expect(wordsOf(events)).toEqual(["sky ", "returned: ", "Rome: ", "clear ", "sky"]);
      const others = events.flatMap(({ event }) => (event === "ai" ? [] : event));
      expect(others).toEqual(["tool", "run-end", "end"]);
      expect(events.find(hasSky)?.data).toEqual(skyOf("Rome"));
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

    it("runs the messages of one thread one after the other", async () => {
      const thread = `${url}/threads/two-at-once`;
      const both = ['call wait {"seconds": 0.2}', 'call sky {"city": "Oslo"}'];
      await Promise.all(both.map((message) => send(thread, message)));
      const words = wordsOf(await send(thread, "what did the tools return?")).join("");
      expect(words).toContain("waited 0.2 s");
      expect(words).toContain("Oslo: clear sky");
    });

    it.each([
      ["another path", "/", "POST"],
      ["another method", "/threads/1", "GET"],
    ])("answers 404 to %s", async (_, path, method) => {
      expect((await fetch(`${url}${path}`, { method })).status).toBe(404);
    });

    it.each(SIGNALS)("continues a thread after a %s in the middle of a batch", async (signal) => {
      let isKilled = false;
      // A server that stops tells its client that the run has ended.
      await send(`${url}/threads/${signal}`, BATCH, (event) => {
        if (hasSky(event) && !isKilled) isKilled = server.child.kill(signal);
        return signal === "SIGKILL" ? isKilled : event.event === "error";
      });
      expect(await server.ended).toBe(signal === "SIGKILL" ? null : 0);
      await start();
      const events = await send(`${url}/threads/${signal}`, "are you back?");
      expect(events.slice(0, 4)).toEqual(RECOVERY);
      expect(events.at(-1)?.event).toBe("end");
    });
  },
);
