/** The route of `examples/web-route.ts`. Each import is an instance, with pools and a queue of its own. */

import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { app as route } from "../../examples/web-route.js";
import { DATABASE_URL } from "../support/savers.js";

type App = typeof route;
interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

async function startInstance(name: string, address: string) {
  vi.stubEnv("DATABASE_URL", address);
  vi.stubEnv("MODEL", "offline:");
  const loaded = await import(/* @vite-ignore */ `../../examples/web-route.ts?instance=${name}`);
  vi.unstubAllEnvs();
  return loaded as typeof import("../../examples/web-route.js");
}

const post = (app: App, thread: string, body: unknown) =>
  app.request(`/threads/${thread}/messages`, { method: "POST", body: JSON.stringify(body) });

/** The events up to the first one that the client wants to see. Then it hangs up. */
async function send(
  app: App,
  thread: string,
  content: string,
  { id = randomUUID() as string, until = "end" } = {},
): Promise<ServerEvent[]> {
  const { body } = await post(app, thread, { id, content });
  const events: ServerEvent[] = [];
  let received = "";
  for await (const piece of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    received += piece;
    const parts = received.split("\n\n");
    received = parts.pop() ?? "";
    for (const part of parts) {
      const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
      events.push({ event, data });
    }
    if (events.some(({ event }) => event === until)) break;
  }
  return events;
}

const textOf = (events: readonly ServerEvent[], type: string) =>
  events.flatMap(({ event, data }) => (event === type ? JSON.parse(data).text : [])).join("");

it("The route refuses a body without a message, and says when its database is gone.", async () => {
  const { app } = await startInstance("alone", "postgresql://127.0.0.1:1/none");
  const refused = await post(app, "1", { content: "Hello" });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("→ at id");
  expect((await post(app, "1", undefined)).status).toBe(400);
  const [event] = await send(app, "1", "Hello", { until: "error" });
  expect(event).toEqual({ event: "error", data: expect.stringContaining("ECONNREFUSED") });
});

describe.runIf(DATABASE_URL !== undefined)("Two instances of the route over one PostgreSQL", () => {
  let one: App;
  let other: App;
  beforeAll(async () => {
    const instances = await Promise.all(
      ["one", "other"].map((name) => startInstance(name, DATABASE_URL ?? "")),
    );
    await instances[0]?.createTables();
    [one, other] = instances.map(({ app }) => app) as [App, App];
  });

  it("stream one thread, and run nothing for a message that is sent again", async () => {
    const thread = randomUUID();
    const id = randomUUID();
    const first = await send(one, thread, 'call wait {"seconds": 0}', { id });
    expect(textOf(first, "tool")).toBe("waited 0 s");
    expect(textOf(first, "ai")).toBe("wait returned: waited 0 s");
    expect(await send(other, thread, 'call wait {"seconds": 0}', { id })).toEqual([
      { event: "end", data: "" },
    ]);
  });

  it("end the run of a client that hangs up, and go on with what its tools had returned", async () => {
    const thread = randomUUID();
    // Only the client ends this run.
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(new AbortController().signal);
    onTestFinished(() => timeout.mockRestore());
    const batch = 'call wait {"seconds": 0} and call wait {"seconds": 600}';
    await send(one, thread, batch, { until: "tool" });
    const next = await send(other, thread, "what did the tools return?");
    expect(textOf(next, "ai")).toContain("wait returned: waited 0 s");
    expect(textOf(next, "ai")).toContain("a new message came before it finished");
  });

  it("run the messages of a thread one after the other", async () => {
    const thread = randomUUID();
    await Promise.all([
      send(one, thread, 'call wait {"seconds": 0.2}'),
      send(other, thread, 'call wait {"seconds": 0.1}'),
    ]);
    const last = await send(one, thread, "what did the tools return?");
    expect(textOf(last, "ai")).toContain("waited 0.2 s");
    expect(textOf(last, "ai")).toContain("waited 0.1 s");
  });
});
