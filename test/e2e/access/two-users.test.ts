/** Two users of one server: neither reads, changes, finds or counts what the other has, by any route of the server. */

import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { RUN_ROUTES } from "../../../server/http/guard-rights.js";
import { user as say } from "../../support/thread.js";
import { newThread, Thread, until } from "../served.js";
import { serveUsers } from "./serve-users.js";

const served = serveUsers();
const ANN = "ann@example.com";
const ANN_LABEL = "x--ann-0040-example-002e-com";

const threadOfAnn = (graph = "agent") => newThread(served.client(ANN), graph);
const run = (assistant_id: string) => ({ assistant_id, input: say("from Bob") });
const start = (params: object) => ({ id: 1, method: "run.start", params });
const cron = { thread_id: "T", assistant_id: "A", schedule: "* * * * *" };
const item = { namespace: [ANN_LABEL, "notes"], key: "K" };
const inbox = [ANN_LABEL, "langgraph-tether", "inbox", "T"];

/** What Bob asks for, with the ids of what is Ann's. */
const refused: readonly (readonly [method: string, path: string, body?: object])[] = [
  ["GET", "/threads/T"],
  ["GET", "/threads/T/state"],
  ["GET", "/threads/T/state/C"],
  ["POST", "/threads/T/state/checkpoint", { checkpoint: { checkpoint_id: "C" } }],
  ["POST", "/threads/T/state", { values: { messages: [{ role: "user", content: "from Bob" }] } }],
  ["POST", "/threads/T/history", {}],
  ["GET", "/threads/T/history"],
  ["PATCH", "/threads/T", { metadata: { owner: "bob" } }],
  ["POST", "/threads/T/copy"],
  ["DELETE", "/threads/T"],
  ["POST", "/threads", { thread_id: "T", if_exists: "do_nothing" }],
  ["GET", "/threads/T/runs"],
  ["POST", "/threads/T/runs", run("agent")],
  ["POST", "/threads/T/runs/stream", run("agent")],
  ["POST", "/threads/T/runs/wait", { assistant_id: "agent", input: null, if_not_exists: "create" }],
  ["GET", "/threads/T/runs/R"],
  ["DELETE", "/threads/T/runs/R"],
  ["GET", "/threads/T/runs/R/join"],
  ["GET", "/threads/T/runs/R/stream"],
  ["POST", "/threads/T/runs/R/cancel"],
  ["GET", "/runs/R/stream"],
  ["GET", "/threads/B/runs/R"],
  ["GET", "/threads/B/runs/R/join"],
  ["GET", "/threads/B/runs/R/stream"],
  ["POST", "/threads/B/runs/R/cancel"],
  ["DELETE", "/threads/B/runs/R"],
  ["POST", "/threads/T/commands", { id: 1, method: "state.get" }],
  ["POST", "/threads/T/commands", start(run("agent"))],
  ["POST", "/threads/T/stream/events", { channels: ["values", "messages"] }],
  ["GET", "/threads/T/stream/events"],
  ["POST", "/threads/T/runs/crons", cron],
  ["GET", "/assistants/A"],
  ["GET", "/assistants/A/graph"],
  ["GET", "/assistants/A/schemas"],
  ["GET", "/assistants/A/subgraphs"],
  ["PATCH", "/assistants/A", { config: { configurable: { a: 1 } } }],
  ["POST", "/assistants/A/versions", {}],
  ["POST", "/assistants/A/latest", { version: 1 }],
  ["DELETE", "/assistants/A"],
  ["POST", "/runs", run("A")],
  ["POST", "/runs/stream", run("A")],
  ["POST", "/runs/wait", run("A")],
  ["POST", "/runs/crons", cron],
  ["POST", "/runs/crons/search", { thread_id: "T" }],
  ["DELETE", "/runs/crons/R"],
  ["POST", "/runs/batch", [run("agent"), run("A")]],
  ["POST", "/threads/B/commands", start({ assistant_id: "A" })],
  ["DELETE", "/assistants/agent"],
  ["PATCH", "/assistants/agent", { context: { maxIterations: 1 } }],
  ["GET", `/store/items?namespace=${encodeURIComponent(ANN_LABEL)}.notes&key=K`],
  ["PUT", "/store/items", { ...item, value: { text: "from Bob" } }],
  ["DELETE", "/store/items", item],
  ["POST", "/store/items/search", { namespace_prefix: [ANN_LABEL] }],
  ["POST", "/store/items/search", { namespace_prefix: [] }],
  ["POST", "/store/items/search", { namespace_prefix: ["langgraph-tether", "inbox"] }],
  ["POST", "/store/namespaces", {}],
  ["POST", "/store/namespaces", { prefix: [ANN_LABEL] }],
  ["POST", "/store/namespaces", { suffix: ["notes"] }],
  ["PUT", "/store/items", { namespace: inbox, key: "K", value: say("x").messages[0] }],
  ["POST", "/internal/truncate", { threads: true }],
  ["POST", "/%69nternal/truncate", { threads: true }],
];

/** What the checklist of docs/production.md names, with the status that it promises. */
const CHECKLIST = {
  "GET /threads/T/state": 404,
  "POST /threads/T/stream/events": 404,
  "POST /threads/T/commands": 404,
  "POST /threads/T/copy": 409,
};

describe("a second user", () => {
  it("is refused every request about a thread, a run, an assistant or an item of the first one", async () => {
    const ann = served.client(ANN);
    const bob = served.client("bob");
    const thread = await threadOfAnn("probe");
    await thread.send("remember hunter2");
    const runId = await thread.begin('call heedful {"ms": 60000}');
    await until(async () => (await ann.runs.get(thread.id, runId)).status === "running");
    const assistant = await ann.assistants.create({ graphId: "agent", metadata: { owner: "bob" } });
    const state = await ann.threads.getState(thread.id);
    const own = await bob.threads.create({ metadata: { owner: ANN, created_by: "system" } });
    expect(own.metadata).toEqual({ owner: "bob" });
    expect(assistant.metadata).toEqual({ owner: ANN });
    const ids: Readonly<Record<string, string>> = {
      T: thread.id,
      R: runId,
      C: state.checkpoint.checkpoint_id ?? "",
      A: assistant.assistant_id,
      B: own.thread_id,
    };
    const filled = (text: string) =>
      text.replaceAll(/(?<=[/"])[TRCAB](?=[/"]|$)/g, (name) => ids[name] ?? name);

    const answers: string[] = [];
    const statuses: Record<string, number> = {};
    for (const [method, path, body] of refused) {
      const sent = body === undefined ? undefined : JSON.parse(filled(JSON.stringify(body)));
      const { status, text } = await served.send("bob", method, filled(path), sent);
      expect(text).not.toMatch(/hunter2/);
      statuses[`${method} ${path}`] = status;
      if (status < 400 && !(method === "GET" && path.endsWith("/runs/R") && text === "null"))
        answers.push(`${method} ${path}: ${status} ${text.slice(0, 80)}`);
    }
    expect(answers).toEqual([]);
    expect(statuses).toMatchObject(CHECKLIST);
    // Nothing was changed, and the run goes on.
    expect((await ann.runs.get(thread.id, runId)).status).toBe("running");
    expect((await ann.threads.get(thread.id)).metadata).toMatchObject({ owner: ANN });
    await ann.runs.cancel(thread.id, runId, true);
    expect(JSON.stringify(await thread.messages())).not.toContain("Bob");
    await ann.threads.delete(thread.id);
    await ann.assistants.delete(assistant.assistant_id);
  });

  it("cannot delete all threads of an assistant at once, because one of them may be busy", async () => {
    const bob = served.client("bob");
    const { assistant_id } = await bob.assistants.create({ graphId: "agent" });
    const thread = await newThread(bob, assistant_id);
    await thread.invoke(say("hello").messages);
    const path = `/assistants/${assistant_id}`;
    expect(await served.send("bob", "DELETE", `${path}?delete_threads=true`)).toEqual({
      status: 403,
      text: "This server deletes threads one by one.",
    });
    expect((await bob.assistants.get(assistant_id)).assistant_id).toBe(assistant_id);
    expect((await bob.threads.get(thread.id)).thread_id).toBe(thread.id);
    expect((await served.send("bob", "DELETE", `${path}?delete_threads=false`)).status).toBeLessThan(300);
    expect((await bob.threads.get(thread.id)).thread_id).toBe(thread.id);
  });

  it("finds and counts only what is their own", async () => {
    const ann = served.client(ANN);
    const bob = served.client("bob");
    const thread = await threadOfAnn();
    const own = await bob.threads.create();
    const isAnns = (found: { thread_id: string }[]) => found.some(({ thread_id }) => thread_id === thread.id);
    for (const query of [{}, { metadata: { owner: ANN } }, { ids: [thread.id, own.thread_id] }])
      expect(isAnns(await bob.threads.search({ ...query, limit: 1000 }))).toBe(false);
    expect(isAnns(await ann.threads.search({ ids: [thread.id] }))).toBe(true);
    expect(await bob.threads.count({ metadata: { owner: ANN } })).toBe(0);
    expect(await bob.threads.count()).toBe((await bob.threads.search({ limit: 1000 })).length);
    const made = await ann.assistants.create({ graphId: "agent" });
    expect(await bob.assistants.search({})).toEqual([]);
    expect(await ann.assistants.search({})).toContainEqual(
      expect.objectContaining({ assistant_id: made.assistant_id }),
    );
    expect(await bob.assistants.count()).toBe(0);
    const system = await bob.assistants.search({ metadata: { created_by: "system" }, graphId: "agent" });
    expect(system.map(({ name }) => name)).toEqual(["agent"]);
  });

  it("has no WebSocket, where another assistant could be run without limits", async () => {
    const thread = (await served.client("bob").threads.create()).thread_id;
    const upgrade = (key: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const { hostname, port } = new URL(served.shared.url);
        const headers = {
          "x-api-key": key,
          connection: "Upgrade",
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        };
        const path = `/threads/${thread}/stream/events`;
        request({ hostname, port, path, headers })
          .on("upgrade", ({ statusCode }, socket) => {
            socket.destroy();
            resolve(statusCode);
          })
          .on("response", (response) => {
            response.resume();
            resolve(response.statusCode);
          })
          .on("error", reject)
          .end();
      });
    expect(await upgrade(served.shared.keys["bob"] ?? "")).toBe(403);
    const { status, text } = await served.send("bob", "GET", `/threads/${thread}/stream/events`);
    expect([status, text]).toEqual([403, expect.stringContaining("over HTTP")]);
  });

  it("keeps the event protocol of a deleted thread closed to whoever makes it again", async () => {
    const thread = await threadOfAnn();
    const body = start({ assistant_id: "agent", input: say("my secret") });
    const path = `/threads/${thread.id}`;
    expect((await served.send(ANN, "POST", `${path}/commands`, body)).status).toBe(200);
    await until(async () => (await thread.client.threads.get(thread.id)).status === "idle");
    await thread.client.threads.delete(thread.id);
    await served.client("bob").threads.create({ threadId: thread.id });
    const events = { channels: ["values", "messages", "lifecycle"] };
    expect((await served.send("bob", "POST", `${path}/stream/events`, events)).status).toBe(404);
  });
});

/** The routes that name nothing of another user, with what covers them. */
const NAMES_NOTHING: { readonly [route: string]: string } = {
  "GET /info": "It has versions only, and no key is needed.",
  "GET /ok": "It has nothing, and no key is needed.",
  "POST /assistants": "The first test: the server sets the owner.",
  "POST /assistants/search": "The test of what is found and counted.",
  "POST /assistants/count": "The test of what is found and counted.",
  "POST /threads/search": "The test of what is found and counted.",
  "POST /threads/count": "The test of what is found and counted.",
  "POST /ui/:agent": "Not served, because `langgraph.json` has no `ui`.",
  "GET /ui/:agent/:basename": "Not served, because `langgraph.json` has no `ui`.",
};
const API = fileURLToPath(new URL("../../../node_modules/@langchain/langgraph-api/dist", import.meta.url));

describe("every route of the server", () => {
  /** As the code of the server has them, with the code that follows. A new version can have others. */
  const routes = ["server.mjs", "ui/load.mjs", ...readdirSync(join(API, "api")).map((name) => `api/${name}`)]
    .filter((file) => file.endsWith(".mjs"))
    .flatMap((file) => readFileSync(join(API, file), "utf8").split(/(?=\b(?:api|app)\.\w+\("\/.)/))
    .flatMap((code) => {
      const [, method = "", path = ""] = /^\w+\.(\w+)\("([^"]+)"/.exec(code) ?? [];
      return ["", "route"].includes(method) ? [] : [{ method: method.toUpperCase(), path, code }];
    });
  const filled = (path: string) => path.replaceAll(/:\w+\??/g, () => crypto.randomUUID());

  it("is tried with what another user has, or names nothing of another user", () => {
    expect(routes.length).toBeGreaterThan(50);
    const untried = routes.filter(({ method, path }) => {
      const pattern = new RegExp(
        `^${path.replaceAll(/\/:\w+\?/g, "(?:/[^/]+)?").replaceAll(/:\w+/g, "[^/]+")}$`,
      );
      const isTried = refused.some(([tried, at]) => tried === method && pattern.test(at.split("?")[0] ?? ""));
      return !isTried && NAMES_NOTHING[`${method} ${path}`] === undefined;
    });
    expect(untried.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    const known = routes.map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(NAMES_NOTHING).filter((route) => !known.includes(route))).toEqual([]);
  });

  it("needs a key, and refuses what would damage the files of the server", async () => {
    const wrong: string[] = [];
    for (const { method, path } of routes) {
      const route = `${method} ${path}`;
      const isOpen = ["GET /info", "GET /ok"].includes(route) || route.startsWith("GET /ui");
      const nobody = await served.send({}, method, filled(path), method === "GET" ? undefined : {});
      const isHidden = path.startsWith("/internal");
      if (!isOpen && nobody.status !== (isHidden ? 404 : 401)) wrong.push(`${route}: ${nobody.status}`);
      if (method === "GET" || isHidden) continue;
      const body = { x: { lc: 1, type: "secret", id: ["KEY"] } };
      const { status } = await served.send("bob", method, filled(path), body);
      if (status !== 422) wrong.push(`${route} with a secret: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  it("that starts runs has the limits of runs, and those that delete what runs need ask for them", () => {
    const shape = (path: string) => path.replaceAll(/:\w+/g, ":");
    const limited = RUN_ROUTES.map(shape);
    const starting = routes.filter(
      ({ method, code }) =>
        method === "POST" && /RunCreate|RunBatchCreate|CronCreate|handleCommand/.test(code),
    );
    expect(starting.map(({ path }) => shape(path)).sort()).toEqual(limited.toSorted());
    // `restart.test.ts` tries those of threads, runs and assistants while a run goes on.
    const deleting = routes.filter(({ method }) => method === "DELETE").map(({ path }) => shape(path));
    expect(deleting.sort()).toEqual([
      "/assistants/:",
      "/runs/crons/:",
      "/store/items",
      "/threads/:",
      "/threads/:/runs/:",
    ]);
  });
});

describe("what the graph keeps in the store", () => {
  /** A client can say anything here. */
  const user = { user_id: ANN, langgraph_auth_user_id: ANN, langgraph_auth_user: { identity: ANN } };
  const claim = { config: { configurable: user } };

  it("are notes of the authenticated user, whatever `configurable` says", async () => {
    const thread = await threadOfAnn();
    await thread.send("note: the code is 4711");
    const other = await newThread(served.client("bob"), "agent");
    const found = await other.send('call search_notes {"query": ""}', claim);
    expect(found.join()).not.toContain("4711");
    await other.send("note: from Bob", claim);
    const { items } = await served.client(ANN).store.searchItems([ANN_LABEL, "notes"]);
    expect(items.map(({ value }) => value["text"])).toEqual(["the code is 4711"]);
    expect((await thread.send('call search_notes {"query": "code"}')).join()).toContain("4711");
  });

  it.each([
    ["*", "x---002a-"],
    ["langgraph", "x--langgraph"],
    ["__proto__", "x---005f005f-proto-005f005f-"],
    ["constructor", "constructor"],
    ["a/../b", "x--a-002f002e002e002f-b"],
  ])("is only their own for a user with the name %s", async (name, label) => {
    const client = await served.tokenClient(name);
    const thread = await newThread(client, "agent");
    await (await threadOfAnn()).send("note: only Ann's");
    await thread.send("note: my own");
    const found = await thread.send('call search_notes {"query": ""}');
    expect(found.at(-1)).toContain("my own");
    expect(found.join()).not.toContain("Ann's");
    const { namespaces } = await client.store.listNamespaces({ prefix: [label] });
    expect(namespaces).toContainEqual([label, "notes"]);
    expect(new Set(namespaces.map(([first]) => first))).toEqual(new Set([label]));
    for (const prefix of [["*"], ["*", "notes"], [ANN_LABEL], ["bob"]])
      await expect(client.store.listNamespaces({ prefix })).rejects.toThrow(/403/);
  });

  it("are an inbox of the thread's owner, which a later thread with the same id does not get", async () => {
    const thread = await threadOfAnn();
    const { store } = served.client(ANN);
    const inboxOfAnn = [ANN_LABEL, "langgraph-tether", "inbox", thread.id];
    await store.putItem(inboxOfAnn, "k", { role: "user", content: "steered" });
    expect((await thread.send("six")).join()).toContain("steered");
    await store.putItem(inboxOfAnn, "l", { role: "user", content: "left" });
    await thread.client.threads.delete(thread.id);

    const bob = served.client("bob");
    await bob.threads.create({ threadId: thread.id });
    const again = new Thread(bob, "agent", thread.id);
    const inbox = ["bob", "langgraph-tether", "inbox", thread.id];
    await bob.store.putItem(inbox, "k", { role: "user", content: "from Bob" });
    const said = (await again.send("hello", claim)).join();
    expect(said).toContain("from Bob");
    expect(said).not.toContain("left");
  });
});
