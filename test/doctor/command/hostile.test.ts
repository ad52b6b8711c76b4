/** Databases of several agents, and ids and names that a terminal or a shell must not obey. */

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { describe, expect, it } from "vitest";
import type { ThreadReport } from "../../../src/doctor.js";
import { human } from "../../support/make-messages.js";
import { expectWarnings, OLD_PACKAGES } from "../../support/test-tools.js";
import { GRAPH, makeDatabase, makeFolder, onOneLine, run, THREADS } from "./command-line.js";

const broken = (name = "weather") => [
  human("h1"),
  new AIMessage({ id: "a1", content: "", tool_calls: [{ id: "c1", name, args: {} }] }),
  human("h2"),
];

/** An agent with another state: the node and the key decide whether its threads look like those of the fixture. */
function otherAgent(node: string, key: string, checkpointer: SqliteSaver) {
  const values = Annotation<string[]>({ reducer: (_, next) => next, default: () => [] });
  return new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, [key]: values }))
    .addNode(node, () => ({}))
    .addEdge(START, node)
    .compile({ checkpointer });
}

describe("a database of several agents", () => {
  it("is repaired with the graph of each thread only, so that no thread loses a value", async () => {
    const { path, over, jsonOver } = await makeDatabase();
    const saver = SqliteSaver.fromConnString(path);
    const input = { messages: broken(), files: ["plan.txt"], todos: [] };
    await otherAgent("model", "files", saver).invoke(input, { configurable: { thread_id: "5-values" } });
    await otherAgent("work", "todos", saver).invoke(input, { configurable: { thread_id: "6-nodes" } });
    const stored = async (thread_id: string) =>
      (await saver.getTuple({ configurable: { thread_id } }))?.checkpoint;
    const before = [await stored("5-values"), await stored("6-nodes")];

    const { threads } = await jsonOver(["doctor"]);
    const codes = (threads as ThreadReport[]).map(({ threadId, findings }) => [
      threadId,
      findings.map(({ code }) => code),
      findings.some(({ fixes }) => fixes.some(({ command }) => command !== null)),
    ]);
    expect(codes).toEqual([
      ["2-dangling", ["pairing/dangling-call"], true],
      ["3-orphan", ["pairing/orphan-result"], true],
      ["5-values", ["state/other-graph", "pairing/dangling-call"], false],
      ["6-nodes", ["state/other-graph", "pairing/dangling-call"], false],
    ]);
    const { output } = await over(["doctor"]);
    expect(onOneLine(output)).toContain("--thread 2-dangling 3-orphan\n");

    const applied = await over(["repair", "--apply", "--yes"]);
    expect(applied.code).toBe(1);
    expect(applied.output).toContain("2 threads were repaired. 2 threads need no repair.");
    expect(applied.output).toContain("2 threads belong to another graph, and were not changed.");
    expect(applied.output.replaceAll(/\s+/g, " ")).toContain("would drop them: files.");
    expect([await stored("5-values"), await stored("6-nodes")]).toEqual(before);
    saver.db.close();
  });
});

describe("ids and names with control characters", () => {
  const ids = [
    "--help",
    "esc\u001b]0;title\u0007\u001b[31m",
    "two\nlines",
    "c1\u009b31m",
    "rtl\u202eevil",
    "it's  two spaces",
  ];
  const threads = Object.fromEntries(ids.map((id) => [id, broken("look\u001b[2J")]));

  it("are never printed as they are, and JSON keeps them", async () => {
    const { over } = await makeDatabase(threads);
    const texts: string[] = [];
    for (const args of [
      ["doctor"],
      ["repair"],
      ["doctor", "--format", "json"],
      ["doctor", "--thread", "no\u001b[31m"],
      ["repair", "--apply", "--yes", "--receipt", "it's new.jsonl"],
    ]) {
      const { output, errors } = await over(args);
      texts.push(output, errors);
      if (!args.includes("json")) continue;
      const printed: ThreadReport[] = JSON.parse(output).threads;
      expect(printed.map(({ threadId }) => threadId).sort()).toEqual([...ids].sort());
    }
    const undone = await over(["undo", "it's new.jsonl", "--yes"]);
    const all = [...texts, undone.output, undone.errors].join("");
    expect(undone.code).toBe(0);
    expect(all.match(/[^\P{Cc}\n]|[\u202a-\u202e]/gu)).toBeNull();
    expect(all).toContain("two\\u000alines");
    expect(all).toContain("undo 'it'\\''s new.jsonl'");
  });

  it("stay whole in the commands that are printed", async () => {
    const { folder, over } = await makeDatabase(threads);
    const { output } = await over(["doctor"]);
    const command = output
      .slice(output.indexOf("npx langgraph-tether"))
      .replace("npx langgraph-tether", "args");
    const script = `args() { printf '%s\\0' "$@"; }\n${command}`;
    const words = execFileSync("bash", ["--norc", "-c", script], {
      encoding: "utf8",
      env: { LC_ALL: "C.UTF-8" },
    }).split("\0");
    const printed = await run(
      ["doctor", ...words.slice(1, -1).filter((word) => word !== ""), "--format", "json"],
      { folder },
    );
    expect(JSON.parse(printed.output).counts).toMatchObject({ threads: ids.length, warnings: ids.length });
  });
});

describe("a thread whose every text tries to forge a line of the output", () => {
  /** It would begin a line, go back to the beginning of one, go up, and turn the text around. */
  const FORGED = "forged";
  const name = (text: string) =>
    `${text}\n  ✓ ${FORGED}\r${FORGED}\u001b[1A\t\u0085${FORGED}\u2028${FORGED}\u202e`;
  const call = { id: name("c1"), name: name("look"), args: {} };
  const messages = [
    { type: "human", id: name("h1"), content: name("Hello") },
    { type: "ai", id: name("a1"), content: name("x"), name: name("agent"), tool_calls: [call, call] },
    { type: "human", id: name("h2"), content: "", name: name("me") },
    { type: "tool", id: name("r1"), content: name("found"), name: name("look"), tool_call_id: name("c9") },
    { type: name("strange"), id: name("s1"), content: "" },
  ];
  const list = messages.slice(0, 4);
  const FILE = name("file");

  /** A line that begins as those of threads do. Wrapped words are indented further. */
  const MARKED = new RegExp(`^ {0,3}(?:[✓✗!→·]\\s+)?${FORGED}`, "m");
  const MOVES = /[^\P{Cc}\n]|[\u2028-\u202e]/u;

  it.each<readonly [args: readonly string[], file: unknown, codes: readonly number[]]>([
    [["doctor", "--file", FILE], { values: { messages }, metadata: { thread_id: name("t1") } }, [1]],
    [["doctor", "--no-redact", "--dialect", "strict", "--file", FILE], list, [1]],
    [["doctor", "--no-redact", "--format", "json", "--file", FILE], list, [1]],
    [["doctor", "--thread", name("t2"), "--file", FILE], list, [2]],
    [["doctor", `--${name("option")}`, "--file", FILE], list, [2]],
    [["repair", "--file", FILE], { values: { messages }, metadata: { thread_id: name("t1") } }, [1]],
    [["repair", "--format", "json", "--file", FILE], { values: { messages } }, [1]],
    ...["anthropic", "openai", "gemini", "mistral", "strict"].map(
      (dialect) => [["explain", FILE, "--dialect", dialect], list, [1]] as const,
    ),
    [["explain", FILE, "--no-redact"], list, [1]],
    [["explain", FILE, "--dialect", "strict", "--format", "json"], list, [1]],
    [["explain", FILE], messages, [2]],
    [["explain", `${FILE}2`], list, [2]],
    [["undo", FILE], list, [2]],
    [[name("command")], list, [2]],
    [["inspect", "--file", FILE], list, [0]],
  ])("does not with %j", async (args, file, codes) => {
    const folder = makeFolder();
    writeFileSync(join(folder, FILE), JSON.stringify(file));
    const serveInspector = async () => ({ address: "http://localhost", close: async () => {} });
    const ended = args[0] === "inspect" ? { serveInspector, signal: AbortSignal.abort() } : {};
    const { code, output, errors } = await run(args, { folder, ...ended });
    const printed = `${output}${errors}`;
    expect(codes).toContain(code);
    if (code === 1) expect(printed).toContain(FORGED);
    expect(printed).not.toMatch(MOVES);
    expect(printed).not.toMatch(MARKED);
  });

  it("does not with a receipt, or in the question whether to write", async () => {
    const { folder, over } = await makeDatabase({ [name("t1")]: broken(name("look")) });
    const questions: string[] = [];
    const ask = async (question: string) => {
      questions.push(question);
      return "yes";
    };
    const receipt = name("receipt");
    const printed: string[] = [];
    for (const args of [
      ["repair", "--apply", "--receipt", receipt],
      ["undo", receipt],
    ]) {
      const { output, errors } = await over(args, { canAsk: true, ask });
      printed.push(output, errors);
    }
    const [first = "", ...rest] = readFileSync(join(folder, receipt), "utf8").split("\n");
    const intent = { ...JSON.parse(first), target: name("sqlite:other.db"), threadId: name("t2") };
    writeFileSync(join(folder, receipt), [JSON.stringify(intent), ...rest].join("\n"));
    for (const args of [
      ["undo", receipt],
      ["undo", receipt, "--yes"],
    ]) {
      const { output, errors } = await over(args, { canAsk: true, ask });
      printed.push(output, errors);
    }
    const { errors } = await run(["undo", receipt, "--yes"], { folder });
    expect(questions).toHaveLength(3);
    for (const text of [...printed, ...questions, errors]) {
      expect(text).not.toMatch(MOVES);
      expect(text).not.toMatch(MARKED);
    }
  });

  it("does not with the error of a command itself", async () => {
    const readInput = () => Promise.reject(new Error(name("lost")));
    const { code, errors } = await run(["explain", "-"], { readInput });
    expect([code, errors.match(MOVES), errors.match(MARKED)]).toEqual([101, null, null]);
  });
});

describe("a row that is not JSON any more", () => {
  it("is not quoted, and does not stop the doctor", async () => {
    const { path, jsonOver } = await makeDatabase();
    const saver = SqliteSaver.fromConnString(path);
    saver.db
      .prepare("UPDATE checkpoints SET checkpoint = ? WHERE thread_id = ?")
      .run("fish and chips", "2-dangling");
    saver.db.close();
    const { code, counts, output } = await jsonOver(["doctor"]);
    expect([code, counts]).toMatchObject([3, { threads: 4, unreadable: 1 }]);
    expect(output).not.toContain("fish");
  });
});

describe("--format json", () => {
  it("is JSON also if nothing could be read", async () => {
    const { folder, path } = await makeDatabase();
    for (const [args, expected] of [
      [["doctor", "--sqlite", "none.db"], "There is no file none.db."],
      [["repair", "--file", "none.json"], "There is no file none.json."],
      [["explain", "none.json"], "There is no file none.json."],
      [["docter"], "unknown command 'docter'"],
      [["doctor", "--sqlite", path, "--graph", GRAPH, "--thread", "nobody"], "has no thread nobody"],
    ] as const) {
      const { code, output } = await run([...args, "--format", "json"], { folder });
      expect([code, JSON.parse(output)]).toEqual([
        2,
        { schemaVersion: 1, outcome: "failed", error: expect.stringContaining(expected) },
      ]);
      expect((await run([...args, "--format=json"], { folder })).output).toBe(output);
    }
  });
});

describe("files of others", () => {
  expectWarnings(OLD_PACKAGES);

  const cli = join(import.meta.dirname, "../../../src/cli.ts");
  const NOBODY = { uid: 65534, gid: 65534, encoding: "utf8" } as const;
  /** Only root can run a program as another user, who may have no right to read this repository. */
  const canBeNobody =
    process.getuid?.() === 0 &&
    spawnSync(process.execPath, ["-e", `fs.accessSync(${JSON.stringify(cli)})`], NOBODY).status === 0;

  it.skipIf(!canBeNobody).each(["delete", "wal"])(
    "are read without any right to write, with the journal mode %s (skipped if the tests cannot run as another user)",
    async (mode) => {
      const { folder, path } = await makeDatabase();
      const saver = SqliteSaver.fromConnString(path);
      saver.db.pragma(`journal_mode = ${mode}`);
      saver.db.close();
      chmodSync(path, 0o444);
      chmodSync(folder, 0o555);
      const before = readdirSync(folder);
      const args = ["--import", "tsx", cli, "doctor", "--sqlite", path, "--graph", GRAPH, "--format", "json"];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, NOBODY);
      expect([status, stderr]).toEqual([1, ""]);
      expect(JSON.parse(stdout).counts).toMatchObject({ threads: 4, warnings: 2, unreadable: 0 });
      expect(readdirSync(folder)).toEqual(before);
    },
  );

  it.skipIf(!canBeNobody)("are not read without the changes that only their WAL has", async () => {
    const { folder, path } = await makeDatabase();
    const saver = SqliteSaver.fromConnString(path);
    saver.db.pragma("journal_mode = wal");
    saver.db.exec("CREATE TABLE more (x); INSERT INTO more VALUES (1)");
    const copy = makeFolder();
    for (const name of ["threads.db", "threads.db-wal"]) copyFileSync(join(folder, name), join(copy, name));
    saver.db.close();
    chmodSync(copy, 0o555);
    const args = ["--import", "tsx", cli, "doctor", "--sqlite", join(copy, "threads.db"), "--graph", GRAPH];
    const { status, stderr } = spawnSync(process.execPath, args, NOBODY);
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining("Copy both files into a folder of your own"),
    ]);
  });

  it("with tables of the same names are refused with a clear word", async () => {
    const { path, over } = await makeDatabase({});
    const saver = SqliteSaver.fromConnString(path);
    saver.db.exec("DROP TABLE IF EXISTS checkpoints; DROP TABLE IF EXISTS writes");
    saver.db.exec("CREATE TABLE checkpoints (place TEXT); CREATE TABLE writes (word TEXT)");
    saver.db.close();
    const { code, errors } = await over(["doctor"]);
    expect([code, errors]).toEqual([2, expect.stringContaining("cannot be read: no such column")]);
  });

  it("that print or start a server when they are loaded, such as a graph, print nothing into the report, and are told of the server after it", async () => {
    const call = { id: "c1", type: "function" as const, function: { name: "look", arguments: '{"a": "b' } };
    // LangChain warns of it whenever it is made.
    const additional_kwargs = { tool_calls: [call] };
    const cut = new AIMessage({ id: "a1", content: "", additional_kwargs, tool_calls: [] });
    const { stdout, stderr, status } = await diagnoseWith(
      `import { createServer } from "node:http";
process.stdout.write("noise\\n");
console.log("noise");
createServer().listen(0, "127.0.0.1");`,
      { ...THREADS, "5-cut": [cut] },
    );
    expect([status, JSON.parse(stdout).counts.threads]).toEqual([1, 5]);
    expect(stderr).toBe(
      "noise\nnoise\nThe file of your graph has started a server in this process. Name a file with --graph that only exports the graph.\n",
    );
  });

  it("that start a server on a port that is taken end with 2, and say so", async () => {
    const { stderr, status } = await diagnoseWith(
      'import { createServer } from "node:http";\nconst first = createServer();\nawait new Promise((done) => first.listen(0, "127.0.0.1", done));\ncreateServer().listen(first.address().port, "127.0.0.1");',
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^The file of your graph starts a server, which fails: listen EADDRINUSE.*\. Name a file with --graph that only exports the graph\.\n$/,
    );
  });
});

it("a slow reader of many findings gets them all, without a word from Node on its listeners", () => {
  const calls = Array.from({ length: 100 }, (_, index) => ({ id: `c${index}`, name: "look", args: {} }));
  const thread = [
    { role: "assistant", content: "", tool_calls: calls },
    { role: "user", content: "Hello?" },
  ];
  const input = Array.from({ length: 20 }, () => JSON.stringify(thread)).join("\n");
  const cli = join(import.meta.dirname, "../../../src/cli.ts");
  const doctor = [process.execPath, "--import", "tsx", cli, "doctor", "--file", "-"];
  const read = '"$@" | while IFS= read -r line; do case "$line" in *✗*) sleep 0.05; echo;; esac; done';
  const { stdout, stderr } = spawnSync("bash", ["-c", read, "bash", ...doctor], { input, encoding: "utf8" });
  expect([stdout.length, stderr]).toEqual([20, ""]);
});

/** Runs the program over a database, with a graph whose file does this when it is loaded. */
async function diagnoseWith(code: string, threads = THREADS) {
  const { folder, path } = await makeDatabase(threads);
  const graph = JSON.stringify(GRAPH.replace(/:graph$/, ""));
  writeFileSync(join(folder, "graph.mjs"), `${code}\nexport { graph } from ${graph};\n`);
  const cli = join(import.meta.dirname, "../../../src/cli.ts");
  const target = ["--sqlite", path, "--graph", `${join(folder, "graph.mjs")}:graph`];
  return spawnSync(process.execPath, ["--import", "tsx", cli, "doctor", ...target, "--format", "json"], {
    encoding: "utf8",
  });
}
