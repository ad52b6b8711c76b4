import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Message } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { makeFolder, run } from "../doctor/command/command-line.js";
import { listen } from "../support/listen.js";
import { serve } from "./served.js";

const server = serve();

const human = (id: string, content: string) => ({ type: "human", id, content });
const call = { type: "ai", id: "ai-c1", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] };
const DANGLING = [human("h1", "The weather?"), call, human("h2", "Hello?")] as unknown as Message[];

async function makeThread(label: string): Promise<string> {
  const { thread_id } = await server.client.threads.create({ graphId: "unpaired", metadata: { label } });
  return thread_id;
}

const send = async (thread: string, content: string): Promise<unknown> =>
  server.client.runs
    .wait(thread, "unpaired", { input: { messages: [human("last", content)] } })
    .catch(() => undefined);

describe("a LangGraph server", () => {
  it("finds broken, bricked, waiting and busy threads, repairs what can be repaired, and takes it back", async () => {
    const { client, url } = server;
    const label = `doctor-${process.pid}`;
    const broken = await makeThread(label);
    await client.threads.updateState(broken, { values: { messages: DANGLING, todos: ["x"] } });
    const stored = JSON.stringify(Object((await client.threads.getState(broken)).values).messages);
    const bricked = await makeThread(label);
    await client.threads.updateState(bricked, { values: { messages: DANGLING.slice(0, 2) } });
    await send(bricked, "brick");
    const waiting = await makeThread(label);
    await client.threads.updateState(waiting, { values: { messages: DANGLING.slice(0, 1) } });
    await send(waiting, "ask");
    const busy = await makeThread(label);
    const busyRun = await client.runs.create(busy, "unpaired", { input: { messages: [human("b", "wait")] } });
    await expect.poll(async () => (await client.threads.get(busy)).status).toBe("busy");
    const folder = makeFolder();
    const args = ["--url", url, "--metadata", `label=${label}`];

    const found = await run(["doctor", ...args, "--format", "json"], { folder });
    expect(found.errors).toBe("");
    const { counts, threads } = JSON.parse(found.output);
    const codesOf = Object.fromEntries(
      threads.map(({ threadId, findings }: { threadId: string; findings: { code: string }[] }) => [
        threadId,
        findings.map(({ code }) => code),
      ]),
    );
    expect(codesOf).toEqual({
      [broken]: ["pairing/dangling-call"],
      [bricked]: expect.arrayContaining(["thread/bricked"]),
      [waiting]: expect.arrayContaining(["state/waiting-for-approval"]),
      [busy]: ["state/busy"],
    });
    expect([found.code, counts.threads, counts.waiting, counts.skipped]).toEqual([1, 4, 1, 1]);
    expect((await run(["doctor", ...args, "--format", "json"], { folder })).output).toBe(found.output);

    const repaired = await run(
      ["repair", ...args, "--apply", "--yes", "--receipt", "r.jsonl", "--format", "json"],
      { folder },
    );
    expect(JSON.parse(repaired.output).counts).toMatchObject({
      repaired: 2,
      waiting: 1,
      skipped: 1,
      failed: 0,
    });
    // The busy thread is left.
    expect(repaired.code).toBe(1);
    const state = await client.threads.getState<{ messages: Message[]; todos: string[] }>(broken);
    expect(state.values.messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "human"]);
    expect(state.values.todos).toEqual(["x"]);
    // What its finished task returned is there too.
    const { values } = await client.threads.getState<typeof state.values>(bricked);
    expect(values.messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "human"]);
    expect([values.messages[2]?.content, values.todos]).toEqual(["18 degrees", ["removed"]]);
    const judged = await run(["doctor", ...args], { folder });
    // The busy one is not judged.
    expect(judged.code).toBe(3);

    // The lines of one thread are a receipt too.
    const lines = readFileSync(join(folder, "r.jsonl"), "utf8").split("\n");
    writeFileSync(join(folder, "one.jsonl"), lines.filter((line) => line.includes(broken)).join("\n"));
    const undone = await run(["undo", "one.jsonl", "--yes"], { folder });
    expect([undone.code, undone.errors]).toEqual([0, ""]);
    const restored = await client.threads.getState<{ messages: Message[] }>(broken);
    expect(restored.values.messages.map(({ id }) => id)).toEqual(["h1", "ai-c1", "h2"]);
    expect(JSON.stringify(restored.values.messages)).toBe(stored);
    await client.runs.cancel(busy, busyRun.run_id, true);
  });

  it("lists what is unfinished: waiting, cancelled and busy threads", async () => {
    const { client, url } = server;
    const label = `unfinished-${process.pid}`;
    const start = async (content: string) => {
      const thread = await makeThread(label);
      const { run_id } = await client.runs.create(thread, "unpaired", {
        input: { messages: [human("h", content)] },
      });
      return { thread, stop: () => client.runs.cancel(thread, run_id, true) };
    };
    const finished = await makeThread(label);
    await client.threads.updateState(finished, { values: { messages: DANGLING.slice(0, 1) } });
    const waiting = await makeThread(label);
    await send(waiting, "ask");
    const [cancelled, busy] = [await start("wait"), await start("wait")];
    for (const { thread } of [cancelled, busy])
      await expect.poll(async () => (await client.threads.get(thread)).status).toBe("busy");
    // Before its first checkpoint there is nothing to finish.
    await expect.poll(async () => (await client.threads.getState(cancelled.thread)).next).not.toHaveLength(0);
    await cancelled.stop();
    await expect.poll(async () => (await client.threads.get(cancelled.thread)).status).not.toBe("busy");
    const { code, output } = await run([
      "unfinished",
      "--url",
      url,
      "--metadata",
      `label=${label}`,
      "--format",
      "json",
    ]);
    await busy.stop();
    const { threads } = JSON.parse(output);
    const kinds = threads.map(({ threadId, kind }: { threadId: string; kind: string }) => [threadId, kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      [waiting]: "waiting",
      [cancelled.thread]: expect.stringMatching(/^(?:stopped|failed)$/),
      [busy.thread]: "going-on",
    });
    expect(code).toBe(1);
  });

  it.each([
    ["probe", "model", "info"],
    ["create_agent_tethered", "model_request", "info"],
    ["create_agent", "model_request", "error"],
    ["unpaired", "model", "warning"],
  ])("judges a dangling call by the graph of its thread: %s", async (graphId, asNode, severity) => {
    const { thread_id } = await server.client.threads.create({ graphId });
    await server.client.threads.updateState(thread_id, { values: { messages: DANGLING }, asNode });
    const args = ["doctor", "--url", server.url, "--thread", thread_id, "--format", "json"];
    const { code, output } = await run(args);
    const [thread] = JSON.parse(output).threads;
    expect([
      code,
      thread.findings.map((found: { code: string; severity: string }) => [found.code, found.severity]),
    ]).toEqual([severity === "info" ? 0 : 1, [["pairing/dangling-call", severity]]]);
    expect(JSON.parse(output).unseen).toContain("does not show the states that subgraphs keep");
  });

  it("recognises a thread that is not there, and one by its id", async () => {
    const thread = await makeThread("one");
    const one = await run(["doctor", "--url", server.url, "--thread", thread]);
    expect([one.code, one.errors]).toEqual([0, ""]);
    const none = "00000000-0000-4000-8000-000000000000";
    const missing = await run(["doctor", "--url", server.url, "--thread", none]);
    expect([missing.code, missing.errors]).toEqual([2, `${server.url} has no thread ${none}.\n`]);
    // A server refuses an id that is no UUID, and the ids beside it.
    const misspelt = await run(["doctor", "--url", server.url, "--thread", "abc"]);
    expect([misspelt.code, misspelt.errors]).toEqual([2, `${server.url} has no thread abc.\n`]);
    const both = await run(["doctor", "--url", server.url, "--thread", "abc", thread, "--format", "json"]);
    expect([both.code, JSON.parse(both.output)]).toMatchObject([
      3,
      { missing: ["abc"], counts: { threads: 1 } },
    ]);
  });

  it.each([
    [401, /the server refuses the request \(401\)\. Name the variable with the key: --api-key-env/],
    [404, /no LangGraph server: it has no \/threads\/search \(404\)/],
    [400, /the server answers 400: HTTP 400: your key \*\*\* is wrong/],
  ])("explains the status %i, and does not print the key", async (status, expected) => {
    const fake = createServer((_, response) =>
      response.writeHead(status).end("your key key-of-nobody is wrong"),
    );
    const { url, stop } = await listen(fake);
    try {
      const environment = { MY_KEY: "key-of-nobody" };
      const ran = await run(["doctor", "--url", url, "--api-key-env", "MY_KEY"], { environment });
      expect(ran.code).toBe(2);
      expect(ran.errors).toMatch(expected);
      expect(ran.errors).not.toContain("key-of-nobody");
    } finally {
      await stop();
    }
  });
});
