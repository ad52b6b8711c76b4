/** The routes over a server that is played: what they ask of it, with which rights, and what they keep to themselves. */

import { afterEach, describe, expect, it } from "vitest";
import { mountInspector } from "../../server/inspector.js";

const SERVER = Symbol.for("langgraph_api:fetch");
afterEach(() => Reflect.deleteProperty(globalThis, SERVER));

const ID = "01a205a0-94ab-75ce-af68-b5e94442a5c5";
const PAGE = `/tether/threads/${ID}`;
const LOCAL = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };

const STATE = {
  values: { messages: [{ type: "human", id: "a", content: "What is the weather?" }] },
  next: ["model"],
  tasks: [],
  checkpoint: { checkpoint_id: "1f1e6cde-462f-6250-8003-8a16aa38395f" },
  metadata: { step: 0, run_id: "r1" },
};
const THREAD = {
  thread_id: ID,
  status: "idle",
  updated_at: "2026-11-22T23:38:59Z",
  metadata: { graph_id: "agent" },
};

interface Asked {
  readonly path: string;
  readonly method: string;
  readonly key: string | null;
}

/** The inspector of a server that runs one graph, whose operator has set a system prompt. */
function inspect(hasUsers: boolean, answers: Readonly<Record<string, unknown>> = {}) {
  const asked: Asked[] = [];
  const given: Readonly<Record<string, unknown>> = {
    "/threads/search": [THREAD],
    [`/threads/${ID}/state`]: STATE,
    [`/threads/${ID}/history`]: [STATE],
    [`/threads/${ID}/runs/r1`]: { kwargs: {} },
    ...answers,
  };
  const serverFetch = async (address: string, init: RequestInit = {}) => {
    const { pathname: path } = new URL(address);
    asked.push({ path, method: init.method ?? "GET", key: new Headers(init.headers).get("authorization") });
    const answer = path in given ? given[path] : 404;
    return typeof answer === "number" ? new Response("No", { status: answer }) : Response.json(answer);
  };
  Reflect.set(globalThis, SERVER, serverFetch);
  const inspector = mountInspector({ MODEL: "offline:", SYSTEM_PROMPT: "The operator's secret." }, hasUsers);
  const get = (path: string, headers: Record<string, string> = {}) =>
    inspector(new Request(`http://localhost${path}`, { headers: { host: "localhost", ...headers } }), LOCAL);
  return { asked, get };
}

describe("the inspector", () => {
  it.each([
    ["a key", { "x-api-key": "k1" }],
    ["a token", { authorization: "Bearer k1" }],
    ["a typed key", { authorization: `Basic ${btoa("ann:k1")}` }],
    ["a key beside a typed text", { "x-api-key": "k1", authorization: `Basic ${btoa("ann:no key")}` }],
  ])("asks the server with the rights of whoever asks it, by %s, and only reads", async (_, headers) => {
    const { asked, get } = inspect(true);
    for (const path of ["/tether", "/tether.json", "/tether/threads.json", PAGE, `${PAGE}.json`])
      expect((await get(path, headers)).status).toBe(200);
    expect(new Set(asked.map(({ key }) => key))).toEqual(new Set(["Bearer k1"]));
    const posts = asked.filter(({ method }) => method !== "GET").map(({ path }) => path);
    expect(new Set(posts)).toEqual(new Set(["/threads/search", `/threads/${ID}/history`]));
  });

  it("does not show the operator's system prompt to users", async () => {
    for (const path of [PAGE, `${PAGE}.json`]) {
      expect(await (await inspect(false).get(path)).text()).toMatch(/The operator(?:'|&#39;)s secret\./);
      expect(await (await inspect(true).get(path)).text()).not.toContain("secret");
    }
  });

  it("knows no settings of another graph", async () => {
    const other = [{ ...THREAD, metadata: { graph_id: "other" } }];
    const answer = await inspect(false, { "/threads/search": other }).get(`${PAGE}.json`);
    const found = (await answer.json()) as { readonly request: object };
    expect(found.request).toMatchObject({ dialect: "as-stored", dialectOrigin: "unknown", sent: 2 });
  });

  it("says that a thread is not there", async () => {
    expect((await inspect(true, { "/threads/search": [] }).get(PAGE)).status).toBe(404);
  });

  it("shows a thread of another graph, whatever its messages, its metadata and its context have", async () => {
    const odd = { toString: 1, valueOf: 1 };
    const long = "long ".repeat(2_000);
    const call = { id: `${long}\u202e`, name: long, args: {}, type: "tool_call" };
    const tool = (id: string, tool_call_id: string, tether_placeholder: unknown) => {
      const additional_kwargs = { tether_placeholder };
      return { type: "tool", id, tool_call_id, content: "", additional_kwargs };
    };
    const messages = [
      { type: "ai", id: "a", content: "", tool_calls: [call] },
      tool("b", call.id, odd),
      tool("c", "x", long),
    ];
    const state = { ...STATE, values: { messages } };
    const { get } = inspect(false, {
      "/threads/search": [{ ...THREAD, metadata: { graph_id: `${long}\u202e`, odd } }],
      [`/threads/${ID}/state`]: state,
      [`/threads/${ID}/history`]: [state],
      [`/threads/${ID}/runs/r1`]: { kwargs: { context: { maxToolCallsFromHistory: -1 } } },
    });
    for (const path of [PAGE, "/tether", "/tether?q=toString"]) {
      const page = await get(path);
      expect(page.status).toBe(200);
      const text = await page.text();
      expect(text).toContain("placeholder: ");
      expect(text).not.toContain("\u202e");
      expect(text.length).toBeLessThan(60_000);
    }
    expect((await get(`${PAGE}.json`)).status).toBe(200);
  });

  it("shows what can be read of a thread if a step of it cannot be read", async () => {
    const step = "1f1e6cde-462f-6250-8003-8a16aa383960";
    const { get } = inspect(false, { [`/threads/${ID}/state/${step}`]: 500 });
    expect((await get(`${PAGE}?step=${step}`)).status).toBe(200);
  });
});
