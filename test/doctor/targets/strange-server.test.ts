/** Servers that are no LangGraph server, or whose threads change while they are read. */

import { createServer, type IncomingMessage } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../support/listen.js";
import { makeFolder, run } from "../command/command-line.js";

type Answer = readonly [status: number, body: unknown];

const SECRET = "The secret word is fish";
const thread = (thread_id: string, status = "idle") => ({
  thread_id,
  status,
  updated_at: "2026-01-01T00:00:00Z",
});
const call = { id: "c1", name: "look", args: {} };
const state = {
  values: {
    messages: [
      { type: "human", id: "h1", content: SECRET },
      { type: "ai", id: "a1", content: "", tool_calls: [call] },
      { type: "human", id: "h2", content: "Are you there?" },
    ],
  },
  next: [],
  tasks: [],
  checkpoint: { checkpoint_id: "k1" },
};

/** @param answer Called with the method, the path and the body of each request. */
async function startServer(answer: (route: string, body: unknown) => Answer): Promise<string> {
  const read = async (request: IncomingMessage): Promise<unknown> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
  };
  const server = createServer(async (request, response) => {
    const [status, body] = answer(`${request.method} ${request.url?.split("?")[0]}`, await read(request));
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  const { url, stop } = await listen(server);
  onTestFinished(stop);
  return url;
}

const doctor = (url: string, ...args: string[]) => run(["doctor", "--url", url, ...args]);

describe("an address where no LangGraph server is", () => {
  it.each<[string, Answer]>([
    ["a page", [200, "<!DOCTYPE html><title>Log in</title>"]],
    ["another object", [200, { detail: "Not here." }]],
  ])("that answers with %s is named", async (_, given) => {
    const { code, errors } = await doctor(await startServer(() => given));
    expect(code).toBe(2);
    expect(errors).toMatch(
      /there is a server, but no LangGraph server: \/threads\/search gives no list of threads\./,
    );
  });

  it("that repeats the values of headers does not bring them into the report, also if one begins with another", async () => {
    const url = await startServer(() => [418, "Not for part-of-a-key and part."]);
    const { code, errors } = await doctor(url, "--header", "a=part", "--header", "b=part-of-a-key");
    expect(code).toBe(2);
    expect(errors).toContain("Not for *** and ***.");
  });
});

describe("a thread", () => {
  it("that was deleted after it was listed is not called sound", async () => {
    const url = await startServer((route) =>
      route === "POST /threads/search" ? [200, [thread("gone")]] : [404, { detail: "Thread not found" }],
    );
    const { code, output } = await doctor(url, "--format", "json");
    expect([code, JSON.parse(output)]).toMatchObject([
      3,
      {
        outcome: "partly-read",
        threads: [{ findings: [{ evidence: expect.stringContaining("any more (404)") }] }],
      },
    ]);
  });

  it("whose state is not what a server sends stops nothing", async () => {
    const states: Readonly<Record<string, unknown>> = {
      a: null,
      b: { ...state, tasks: null, checkpoint: null },
      c: { ...state, values: 5, tasks: [null] },
      d: state,
    };
    const url = await startServer((route) => {
      const [, id = "", rest] = /^GET \/threads\/(\w)(\/state)?/.exec(route) ?? [];
      if (route === "POST /threads/search") return [200, Object.keys(states).map((name) => thread(name))];
      return rest === undefined ? [200, id === "" ? [] : thread(id)] : [200, states[id]];
    });
    const { code, output } = await doctor(url, "--format", "json");
    expect([code, JSON.parse(output).counts]).toMatchObject([
      3,
      { threads: 4, unreadable: 1, withFindings: 2 },
    ]);
    expect(output).not.toContain("fish");
  });

  it("whose run begins after the plan is not written, and the next repair is not stopped", async () => {
    const written: unknown[] = [];
    const url = await startServer((route, body) => {
      if (route === "POST /threads/search") return [200, [thread("a"), thread("b")]];
      if (route === "POST /threads/b/state") written.push(body);
      if (route.startsWith("POST /threads/a/state")) return [409, { detail: "Thread is busy" }];
      if (route === "POST /threads/b/state") return [500, `The database is full of ${SECRET}`];
      return [200, route.endsWith("/state") ? state : route.endsWith("/history") ? [] : thread("a")];
    });
    const folder = makeFolder();
    const args = ["repair", "--url", url, "--apply", "--yes", "--format", "json"];
    const { code, output } = await run(args, { folder });
    const { counts, threads } = JSON.parse(output);
    expect([code, counts]).toMatchObject([1, { skipped: 1, failed: 1, repaired: 0 }]);
    expect(threads[1].error).toBe("The server answers 500, and its log says why.");
    expect(output).not.toContain("fish");
    expect(written).toHaveLength(1);
  });
});

describe("a server whose list changes while it is read", () => {
  const threadsAt = (page: (offset: number) => readonly string[]) =>
    startServer((_, body) => {
      const { ids, limit, offset } = Object(body);
      // The first request only asks whether there is a server.
      const listed = ids ?? (limit === 1 ? [] : page(offset));
      return [200, listed.map((id: string) => thread(id, "busy"))];
    });
  const named = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);

  it("because a thread is deleted: no other one is left out", async () => {
    const names = named(250);
    const url = await threadsAt((offset) => {
      const page = names.slice(offset, offset + 100);
      if (offset === 0) names.shift();
      return page;
    });
    const { output } = await doctor(url, "--format", "json");
    expect(JSON.parse(output)).toMatchObject({ counts: { threads: 250 }, stopped: null });
  });

  it("and is in another order each time: it is not read forever, and each thread once", async () => {
    let count = 0;
    const url = await threadsAt(() => {
      count += 7;
      return named(100).map((_, index) => `t${(index + count) % 100}`);
    });
    const { output } = await doctor(url, "--format", "json");
    expect(JSON.parse(output)).toMatchObject({ counts: { threads: 100 }, stopped: null });
  });
});
