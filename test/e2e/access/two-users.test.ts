/** Two users of one server: neither reads, changes, finds or counts what the other has. */

import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { user as say } from "../../support/thread.js";
import { Thread, until } from "../served.js";
import { serveUsers } from "./serve-users.js";

const served = serveUsers();
const ANN = "ann@example.com";
const ANN_LABEL = "ann%40example%2Ecom";

async function threadOfAnn(graph = "agent") {
  const client = served.client(ANN);
  return new Thread(client, graph, (await client.threads.create()).thread_id);
}

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
  ["POST", "/threads/T/runs", { assistant_id: "agent", input: say("from Bob") }],
  ["POST", "/threads/T/runs/stream", { assistant_id: "agent", input: say("from Bob") }],
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
  [
    "POST",
    "/threads/T/commands",
    { id: 1, method: "run.start", params: { assistant_id: "agent", input: say("from Bob") } },
  ],
  ["POST", "/threads/T/stream/events", { channels: ["values", "messages"] }],
  ["GET", "/assistants/A"],
  ["GET", "/assistants/A/graph"],
  ["PATCH", "/assistants/A", { config: { configurable: { a: 1 } } }],
  ["POST", "/assistants/A/versions", {}],
  ["POST", "/assistants/A/latest", { version: 1 }],
  ["DELETE", "/assistants/A"],
  ["POST", "/runs/wait", { assistant_id: "A", input: say("from Bob") }],
  [
    "POST",
    "/runs/batch",
    [
      { assistant_id: "agent", input: say("a") },
      { assistant_id: "A", input: say("b") },
    ],
  ],
  ["POST", "/threads/B/commands", { id: 1, method: "run.start", params: { assistant_id: "A" } }],
  ["DELETE", "/assistants/agent"],
  ["PATCH", "/assistants/agent", { context: { maxIterations: 1 } }],
  ["GET", `/store/items?namespace=${encodeURIComponent(ANN_LABEL)}.notes&key=K`],
  ["PUT", "/store/items", { namespace: [ANN_LABEL, "notes"], key: "K", value: { text: "from Bob" } }],
  ["DELETE", "/store/items", { namespace: [ANN_LABEL, "notes"], key: "K" }],
  ["POST", "/store/items/search", { namespace_prefix: [ANN_LABEL] }],
  ["POST", "/store/items/search", { namespace_prefix: [] }],
  ["POST", "/store/items/search", { namespace_prefix: ["langgraph-tether", "archive"] }],
  ["POST", "/store/namespaces", {}],
  ["POST", "/store/namespaces", { prefix: [ANN_LABEL] }],
  ["POST", "/store/namespaces", { suffix: ["notes"] }],
  [
    "PUT",
    "/store/items",
    { namespace: [ANN_LABEL, "langgraph-tether", "inbox", "T"], key: "K", value: say("x").messages[0] },
  ],
  ["POST", "/internal/truncate", { threads: true }],
  ["POST", "/%69nternal/truncate", { threads: true }],
];

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
    for (const [method, path, body] of refused) {
      const sent = body === undefined ? undefined : JSON.parse(filled(JSON.stringify(body)));
      const { status, text } = await served.send("bob", method, filled(path), sent);
      expect(text).not.toMatch(/hunter2/);
      if (status < 400 && !(method === "GET" && path.endsWith("/runs/R") && text === "null"))
        answers.push(`${method} ${path}: ${status} ${text.slice(0, 80)}`);
    }
    expect(answers).toEqual([]);
    // Nothing was changed, and the run goes on.
    expect((await ann.runs.get(thread.id, runId)).status).toBe("running");
    expect((await ann.threads.get(thread.id)).metadata).toMatchObject({ owner: ANN });
    await ann.runs.cancel(thread.id, runId, true);
    expect(JSON.stringify(await thread.messages())).not.toContain("Bob");
    await ann.threads.delete(thread.id);
    await ann.assistants.delete(assistant.assistant_id);
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
    expect((await ann.assistants.search({})).map(({ assistant_id }) => assistant_id)).toContain(
      made.assistant_id,
    );
    expect(await bob.assistants.count()).toBe(0);
    const system = await bob.assistants.search({ metadata: { created_by: "system" }, graphId: "agent" });
    expect(system.map(({ name }) => name)).toEqual(["agent"]);
  });

  it("cannot open the event protocol of a thread over a WebSocket", async () => {
    const thread = await threadOfAnn();
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
        const path = `/threads/${thread.id}/stream/events`;
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
    expect(await upgrade(served.shared.keys["bob"] ?? "")).not.toBe(101);
    expect(await upgrade(served.shared.keys[ANN] ?? "")).toBe(101);
  });

  it("keeps the event protocol of a deleted thread closed to whoever makes it again", async () => {
    const thread = await threadOfAnn();
    const start = { id: 1, method: "run.start", params: { assistant_id: "agent", input: say("my secret") } };
    const path = `/threads/${thread.id}`;
    expect((await served.send(ANN, "POST", `${path}/commands`, start)).status).toBe(200);
    await until(async () => (await thread.client.threads.get(thread.id)).status === "idle");
    await thread.client.threads.delete(thread.id);
    await served.client("bob").threads.create({ threadId: thread.id });
    const events = { channels: ["values", "messages", "lifecycle"] };
    expect((await served.send("bob", "POST", `${path}/stream/events`, events)).status).toBe(404);
  });
});

describe("what the graph keeps in the store", () => {
  /** A client can say anything here. */
  const claim = {
    config: {
      configurable: {
        user_id: ANN,
        langgraph_auth_user_id: ANN,
        langgraph_auth_user: { identity: ANN },
      },
    },
  };

  it("are notes of the authenticated user, whatever `configurable` says", async () => {
    const thread = await threadOfAnn();
    await thread.send("note: the code is 4711");
    const bob = served.client("bob");
    const other = new Thread(bob, "agent", (await bob.threads.create()).thread_id);
    const found = await other.send('call search_notes {"query": ""}', claim);
    expect(found.join()).not.toContain("4711");
    await other.send("note: from Bob", claim);
    const { items } = await served.client(ANN).store.searchItems([ANN_LABEL, "notes"]);
    expect(items.map(({ value }) => value["text"])).toEqual(["the code is 4711"]);
    expect((await thread.send('call search_notes {"query": "code"}')).join()).toContain("4711");
  });

  it("are an archive and an inbox of the thread's owner, which a later thread with the same id does not get", async () => {
    const thread = await threadOfAnn();
    for (const text of ["the code is 0815", "two", "three", "four", "five"]) await thread.send(text);
    const { store } = served.client(ANN);
    const archive = await store.searchItems([ANN_LABEL, "langgraph-tether", "archive", thread.id]);
    expect(JSON.stringify(archive.items)).toContain("0815");
    await store.putItem([ANN_LABEL, "langgraph-tether", "inbox", thread.id], "k", {
      role: "user",
      content: "steered",
    });
    expect((await thread.send("six")).join()).toContain("steered");
    await store.putItem([ANN_LABEL, "langgraph-tether", "inbox", thread.id], "l", {
      role: "user",
      content: "left",
    });
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
