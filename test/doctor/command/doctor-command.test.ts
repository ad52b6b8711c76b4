import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { describe, expect, it } from "vitest";
import { documentedSql, GRAPH, makeDatabase, onOneLine, run, THREADS } from "./command-line.js";

/** A thread in JSON, in part. */
interface Printed {
  readonly namespace: string;
  readonly findings: readonly { readonly fixes: readonly { readonly command: string | null }[] }[];
}

const hashOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

describe("doctor", () => {
  it("finds the broken threads of an SQLite file, and prints the command that repairs them", async () => {
    const { over } = await makeDatabase();
    const { code, output, errors } = await over(["doctor"]);
    expect(code).toBe(1);
    expect(errors).toBe("");
    expect(onOneLine(output)).toBe(`tether doctor · sqlite:threads.db

  ! 2-dangling
      1 dangling call (weather)
        openai: An assistant message with 'tool_calls' must be followed by tool
        messages responding to each 'tool_call_id'. The following tool_call_ids
        did not have response messages: c1
  ! 3-orphan
      1 orphan result (weather)
        openai: Invalid parameter: messages with role 'tool' must be a response
        to a preceeding message with 'tool_calls'.

  · It is not known whether 2 faults with a ! are sent to a model: the graph's
    own nodes, or its client, may mend them before.
  2 of 4 threads have findings (0 errors, 2 warnings).

  Show what a repair would do:
    npx langgraph-tether repair --sqlite threads.db --graph GRAPH --thread 2-dangling 3-orphan
`);
  });

  it("prints the same bytes twice, and changes no byte of the file", async () => {
    const { path, over } = await makeDatabase();
    const before = hashOf(path);
    const outputs = new Set<string>();
    for (const format of ["text", "json", "text", "json"])
      outputs.add((await over(["doctor", "--format", format])).output);
    expect(outputs.size).toBe(2);
    expect(hashOf(path)).toBe(before);
  });

  it("prints JSON of a fixed shape, without any text of messages", async () => {
    const { over } = await makeDatabase();
    const { code, output } = await over(["doctor", "--thread", "2-dangling", "--format", "json"]);
    expect(code).toBe(1);
    expect(output).not.toContain("fish");
    expect(JSON.parse(output.replaceAll(GRAPH, "GRAPH"))).toEqual({
      schemaVersion: 1,
      target: "sqlite:threads.db",
      outcome: "findings",
      counts: {
        ...{
          threads: 1,
          sound: 0,
          withFindings: 1,
          unreadable: 0,
          skipped: 0,
          notJudged: 0,
          waiting: 0,
          subgraphs: 0,
        },
        ...{ errors: 0, warnings: 1, uncertain: 1, infos: 0 },
      },
      withoutGraph: false,
      unseen: null,
      missing: [],
      stopped: null,
      threads: [
        {
          threadId: "2-dangling",
          namespace: "",
          checkpointId: expect.any(String),
          status: "idle",
          outcome: "findings",
          messages: 3,
          tokens: expect.any(Number),
          findings: [
            {
              code: "pairing/dangling-call",
              severity: "warning",
              index: 1,
              messageId: "ai-c1",
              callId: "c1",
              tool: "weather",
              dialect: "openai",
              providerSays: expect.stringContaining("did not have response messages: c1"),
              evidence: expect.any(String),
              fixes: [
                {
                  kind: "close",
                  description: expect.any(String),
                  command:
                    "npx langgraph-tether repair --sqlite threads.db --graph GRAPH --thread 2-dangling",
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it("names no command for the state of a subgraph, which a repair never writes", async () => {
    const { path, jsonOver } = await makeDatabase();
    const saver = SqliteSaver.fromConnString(path);
    const tuple = await saver.getTuple({ configurable: { thread_id: "2-dangling" } });
    if (tuple === undefined) throw new Error("Expected a checkpoint.");
    const inside = { configurable: { thread_id: "2-dangling", checkpoint_ns: "inner" } };
    await saver.put(inside, tuple.checkpoint, tuple.metadata as never);
    saver.db.close();
    const { threads } = await jsonOver(["doctor", "--thread", "2-dangling"]);
    const commands = (threads as Printed[]).map(({ namespace, findings }) => [
      namespace,
      findings.some(({ fixes }) => fixes.some(({ command }) => command !== null)),
    ]);
    expect(Object.fromEntries(commands)).toEqual({ "": true, inner: false });
  });

  it.each([
    ["--thread 1-sound", 0, 1],
    ["--fail-on never", 0, 4],
    ["--thread 1-sound 4-sound", 0, 2],
    ["--limit 1", 0, 1],
    ["--status interrupted", 0, 0],
    ["--thread 1-sound nobody", 3, 1],
    ["--thread 1-sound --max-tokens 5", 1, 1],
    ["--thread 1-sound --max-tokens 5000", 0, 1],
    ["--since 2100-01-01", 0, 0],
    ["--thread 1-sound --since 2100-01-01", 0, 0],
    ["--thread 1-sound 4-sound --limit 1", 0, 1],
    ["--thread 1-sound nobody --since 2100-01-01", 3, 0],
  ])("with %s ends with %i and has read %i threads", async (args, code, threads) => {
    const { jsonOver } = await makeDatabase();
    const ran = await jsonOver(["doctor", ...args.split(" ")]);
    expect([ran.code, ran.counts.threads]).toEqual([code, threads]);
  });

  it("lists each finding that it counts, and shows the beginning of messages on demand", async () => {
    const { over, jsonOver } = await makeDatabase();
    const { threads, counts } = await jsonOver(["doctor", "--dialect", "strict"]);
    const findings = (threads as Printed[]).flatMap((thread) => thread.findings);
    expect(findings).toHaveLength(counts.errors + counts.warnings + counts.infos);
    const text = await over(["doctor", "--no-redact", "--thread", "3-orphan"]);
    expect(text.output).toContain("result-c9: 18 degrees");
  });

  it("shows its progress on a terminal only", async () => {
    const { over } = await makeDatabase();
    let time = 0;
    const now = () => (time += 1000);
    const { errors } = await over(["doctor"], { isTerminal: true, now });
    // Each line is gone before anything else is written, and at the end.
    const shown = errors.split("\r\u001b[K");
    expect(shown).toEqual([
      ...[1, 2, 3, 4].map((count) =>
        expect.stringMatching(RegExp(`^${count} of 4 threads · \\d+ s · 1 threads/s$`)),
      ),
      "",
    ]);
    expect((await over(["doctor"], { now })).errors).toBe("");
  });

  it("says once what a provider says of many threads, and how many have each finding", async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `t${index}`);
    const { over } = await makeDatabase(
      Object.fromEntries(ids.map((id) => [id, THREADS["2-dangling"] ?? []])),
    );
    const { output } = await over(["doctor"]);
    expect(output.match(/! t\d+\n {6}1 dangling call \(weather\)\n/g)).toHaveLength(50);
    expect(output.match(/did not have response messages/g)).toHaveLength(1);
    expect(output).toContain(
      "  50 of 50 threads have findings (0 errors, 50 warnings).\n    50 threads: pairing/dangling-call\n",
    );
  });

  it("colours its head and its marks on a terminal that has colours, and nothing that a thread is named", async () => {
    const { over } = await makeDatabase({ "\u001b[32mgreen": THREADS["2-dangling"] ?? [] });
    const { output } = await over(["doctor"], { hasColours: true });
    expect(output).toContain("\u001b[1mtether doctor · sqlite:threads.db\u001b[22m\n");
    expect(output).toContain("  \u001b[33m!\u001b[39m \u001b[1m\\u001b[32mgreen\u001b[22m\n");
    expect((await over(["doctor"])).output).not.toContain("\u001b");
  });

  it("suggests no repair that does nothing, with the graph or without it", async () => {
    const { folder, over } = await makeDatabase({ "1-open": (THREADS["1-sound"] ?? []).slice(0, 2) });
    const withoutGraph = await run(["doctor", "--sqlite", "threads.db"], { folder });
    for (const { code, output } of [await over(["doctor"]), withoutGraph]) {
      expect(code).toBe(1);
      expect(output).toContain("  ! 1-open\n      1 open call (weather)\n");
      expect(output).not.toContain("Show what a repair would do");
    }
    expect((await over(["repair"])).output).toContain("1 thread needs no repair.");
  });

  it("stops when it is interrupted, and does not call the rest sound", async () => {
    const many = Array.from({ length: 20 }, (_, index) => [`t${index}`, THREADS["4-sound"] ?? []]);
    const { jsonOver } = await makeDatabase(Object.fromEntries(many));
    const interrupted = new AbortController();
    const errors = { isTerminal: true, write: async () => interrupted.abort() };
    let time = 0;
    const now = () => (time += 1000);
    const given = { errors, signal: interrupted.signal, now };
    const { code, stopped, counts } = await jsonOver(["doctor"], given);
    expect([code, stopped, counts.threads < 20]).toEqual([3, "It was interrupted.", true]);
  });

  it("has no word on sizes: docs/production.md asks an SQLite file for them", async () => {
    const { path } = await makeDatabase();
    const saver = SqliteSaver.fromConnString(path);
    const rows = saver.db.prepare(documentedSql("select thread_id, count(*)")).all();
    saver.db.close();
    expect(rows).toHaveLength(4);
    for (const row of rows) expect(row).toMatchObject({ checkpoints: 3, bytes: expect.any(Number) });
  });

  it("reads a database without its graph, and says what it then does not know", async () => {
    const { folder } = await makeDatabase();
    const { code, output, errors } = await run(["doctor", "--sqlite", "threads.db"], { folder });
    expect([code, errors]).toEqual([1, ""]);
    expect(output).toMatch(/^ {2}· No graph is named, so it is not known/m);
    expect(onOneLine(output)).toContain(
      "  2 of 4 threads have findings (0 errors, 2 warnings).\n\n  Show what a repair would do:\n    npx langgraph-tether repair --sqlite threads.db --graph FILE:EXPORT --thread 2-dangling 3-orphan\n",
    );
    const json = await run(["doctor", "--sqlite", "threads.db", "--format", "json"], { folder });
    const { withoutGraph, threads } = JSON.parse(json.output);
    expect(withoutGraph).toBe(true);
    expect((threads as Printed[])[0]?.findings[0]?.fixes[0]?.command).toContain("--graph FILE:EXPORT");
  });

  it("does not call a list sound that has no message of LangChain", async () => {
    const sound = [{ role: "user", content: "Hi" }];
    const others = [{ role: "user", parts: [{ text: "Hi" }] }];
    const readInput = async () => [sound, others].map((list) => JSON.stringify(list)).join("\n");
    const { code, output } = await run(["doctor", "--file", "-"], { readInput });
    expect([code, output]).toEqual([3, expect.stringContaining("were not judged")]);
    expect(output).toContain("  No findings in the 1 thread that was judged.\n");
    const json = await run(["doctor", "--file", "-", "--format", "json"], { readInput });
    expect(JSON.parse(json.output).counts).toMatchObject({ threads: 2, sound: 1, skipped: 0, notJudged: 1 });
  });

  it("says that the window of a model is not known for a long thread, and judges it if it is named", async () => {
    const list = [{ role: "user", content: "word ".repeat(400_000) }];
    const readInput = async () => JSON.stringify(list);
    const unknown = await run(["doctor", "--file", "-"], { readInput });
    expect([unknown.code, unknown.output.replaceAll(/\s+/g, " ")]).toEqual([
      0,
      expect.stringMatching(
        /has about [\d,]+ tokens\. Whether it fits was not judged, .* --max-tokens 128000/,
      ),
    ]);
    const named = await run(["doctor", "--file", "-", "--max-tokens", "128000"], { readInput });
    expect([named.code, named.output]).toEqual([1, expect.stringContaining("the model accepts 128000")]);
    expect(named.output).not.toContain("was not judged");
  });

  it("finds the messages of a state under another name, and says what a file does not have", async () => {
    const call = { type: "ai", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] };
    const chat = [{ type: "human", content: "Hi" }, call, { type: "human", content: "Hello?" }];
    for (const state of [
      { values: { chat, topic: "x" }, tasks: [], next: [] },
      { chat, topic: "x" },
    ]) {
      const readInput = async () => JSON.stringify(state);
      const { code, output } = await run(["doctor", "--file", "-", "--format", "json"], { readInput });
      const { threads, unseen } = JSON.parse(output);
      expect(code).toBe(1);
      expect(threads[0].findings.map((found: { code: string }) => found.code)).toEqual([
        "state/other-channel",
        "pairing/dangling-call",
      ]);
      expect(unseen === null).toBe(!("tasks" in state));
    }
    const readInput = async () => JSON.stringify({ values: { topic: "x" }, tasks: [], next: [] });
    expect((await run(["doctor", "--file", "-"], { readInput })).code).toBe(3);
  });

  it("reads a file: a list, a state, and lines of both", async () => {
    const broken = [
      { role: "user", content: "The weather?" },
      { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] },
      { role: "user", content: "Hello?" },
    ];
    const state = {
      values: { messages: [{ type: "human", content: "Hi" }] },
      tasks: [],
      config: { configurable: { thread_id: "t1" } },
    };
    const readInput = async () => `${JSON.stringify(broken)}\n${JSON.stringify(state)}\n`;
    const { code, output } = await run(["doctor", "--file", "-", "--format", "json"], { readInput });
    expect(code).toBe(1);
    expect(JSON.parse(output)).toMatchObject({
      counts: { threads: 2, sound: 1, errors: 1 },
      threads: [{ threadId: "standard input:1", findings: [{ code: "pairing/dangling-call" }] }],
    });
  });
});
