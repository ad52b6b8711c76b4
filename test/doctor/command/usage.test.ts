import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/doctor/command/program.js";
import { TARGETS } from "../../../src/doctor/targets/targets.js";
import { GRAPH, makeDatabase, makeFolder, run } from "./command-line.js";

const SECRET = "hunter2secret";

describe("a command line that cannot be run ends with 2, and says what is wrong", () => {
  it.each([
    [["doctr"], "error: unknown command 'doctr'\n(Did you mean doctor?)"],
    [["--sqlite", "x"], "error: unknown option '--sqlite'"],
    [
      ["doctor"],
      "Expected a target: one of --url <ADDRESS>, --postgres <ADDRESS>, --sqlite <FILE> or --file <FILE>.",
    ],
    [
      ["doctor", "--sqlit", "x"],
      "error: unknown option '--sqlit'\n(Did you mean --sqlite?)\nSee langgraph-tether doctor --help.",
    ],
    [["doctor", "--apply"], /^error: unknown option '--apply'/],
    [["doctor", "--limit"], /^error: option '--limit <COUNT>' argument missing/],
    [
      ["doctor", "--limit", "many"],
      /^error: .*--limit.* 'many' is invalid\. Expected an integer of 1 or more\./,
    ],
    [
      ["doctor", "--format", "jsn"],
      /^error: .*--format.* 'jsn' is invalid\. Allowed choices are text, json\./,
    ],
    [["doctor", "--dialect", "antropic"], /^error: .*--dialect.* 'antropic' is invalid\. .*anthropic/],
    [
      ["doctor", "--fail-on", "info"],
      /^error: .*--fail-on.* 'info' is invalid\. .*error, unknown, warning, never\./,
    ],
    [
      ["doctor", "--since", "yesterday"],
      /^error: .*--since.* 'yesterday' is invalid\. Expected a span such as 30m/,
    ],
    [["doctor", "--metadata", "team"], "Expected --metadata to be KEY=VALUE."],
    [["doctor", "--header", SECRET], "Expected --header to be KEY=VALUE."],
    [["doctor", "--sqlite", ""], "Expected --sqlite not to be empty."],
    [["doctor", "--harvest"], /^error: unknown option '--harvest'/],
    [["doctor", "--concurrency=9"], /^error: unknown option '--concurrency=…'/],
    [["doctor", "threads.db"], /^error: too many arguments for 'doctor'/],
    [["doctor", "--sqlite", "a", "--file", "b"], "Expected one target, got --sqlite and --file."],
    [["doctor", "--sqlite", "a", "--schema", "b"], "--schema belongs to --postgres, not to --sqlite."],
    [
      ["doctor", "--url", "http://a", "--graph", "b"],
      "--graph belongs to --postgres and --sqlite, not to --url.",
    ],
    [["doctor", "--sqlite", "nobody.db"], "There is no file nobody.db."],
    [["doctor", "--file", "nobody.json"], "There is no file nobody.json."],
    [["doctor", "--url", "localhost"], "Expected --url to be an address such as http://localhost:2024."],
    [
      ["doctor", "--url", "http://127.0.0.1:9", "--api-key-env", "NOBODY"],
      "The environment variable NOBODY of --api-key-env is not set.",
    ],
    [["doctor", "--url", "http://127.0.0.1:9"], /^http:\/\/127\.0\.0\.1:9: there is no server: /],
    [["doctor", "--postgres", "mysql://x"], /^Expected --postgres to be an address such as postgresql:/],
    [["repair", "--file", "x", "--apply", "--yes"], /^What --file names cannot be repaired in place\./],
    [["repair", "--sqlite", "x", "--apply"], "Nobody can be asked here, so --apply needs --yes."],
    [
      ["repair", "--sqlite", "x", "--receipt", "r"],
      "--receipt needs --apply: without it, nothing is written.",
    ],
    [["undo"], /^error: missing required argument 'receipt'/],
    [["undo", "nobody.jsonl"], "There is no file nobody.jsonl."],
    [["undo", "r.jsonl", "--file", "-"], /^error: unknown option '--file'/],
    [["explain"], /^error: missing required argument 'file'/],
    [["explain", "a", "b"], /^error: too many arguments for 'explain'/],
    [["help", "doctr"], /^Usage: langgraph-tether /],
  ])("%j", async (args, expected) => {
    const readInput = async () => "[]";
    const { code, output, errors } = await run(args, { folder: makeFolder(), readInput });
    expect(code).toBe(2);
    expect(output).toBe("");
    if (typeof expected === "string") expect(errors).toBe(`${expected}\n`);
    else expect(errors.trimEnd()).toMatch(expected);
  });

  it("does not print a password", async () => {
    const address = `postgresql://me:${SECRET}@127.0.0.1:9/x`;
    const { code, errors } = await run(["doctor", "--postgres", address]);
    expect(code).toBe(2);
    expect(errors).toContain("postgresql://me:***@127.0.0.1:9/x cannot be opened");
    expect(errors).not.toContain(SECRET);
    expect((await run(["doctor", "--postgres", `postgres://${SECRET}`])).code).toBe(2);
  });

  it.each([
    ["doctor", `--postgress=postgresql://me:${SECRET}@127.0.0.1:9/x`],
    ["doctor", `--api-key=${SECRET}`],
    [`postgresql://me:${SECRET}@127.0.0.1:9/x`],
    ["doctor", `postgresql://me:${SECRET}@127.0.0.1:9/x`],
  ])("does not repeat the value of %j", async (...args) => {
    const { code, output, errors } = await run([...args, "--format", "json"]);
    expect(code).toBe(2);
    expect(output + errors).not.toContain(SECRET);
    expect(JSON.parse(output)).toMatchObject({ outcome: "failed" });
  });

  it("names a file that is no database, one without the tables, and a graph that is not there", async () => {
    const { folder } = await makeDatabase();
    writeFileSync(join(folder, "text.db"), "This is a text of some length.");
    SqliteSaver.fromConnString(join(folder, "other.db")).db.exec("CREATE TABLE notes (text TEXT)").close();
    const graphFile = GRAPH.slice(0, -":graph".length);
    const texts = [];
    for (const args of [
      ["--sqlite", "text.db"],
      ["--sqlite", "other.db"],
      ["--sqlite", "threads.db", "--graph", "agent"],
      ["--sqlite", "threads.db", "--graph", "nobody.ts:graph"],
      ["--sqlite", "threads.db", "--graph", `${graphFile}:grap`],
      ["--sqlite", "threads.db", "--graph", `${graphFile}:noGraph`],
    ]) {
      const { code, errors } = await run(["doctor", ...args], { folder });
      expect(code).toBe(2);
      texts.push(errors.replaceAll(graphFile, "graph.ts").trimEnd());
    }
    expect(texts).toEqual([
      "The file text.db is not an SQLite database.",
      "The SQLite file other.db has no tables `checkpoints` and `writes`, so no LangGraph checkpointer has written to it.",
      "There is no langgraph.json in this folder, which would name the graph agent. Name your graph: --graph ./src/agent.ts:graph",
      "There is no file nobody.ts for the graph nobody.ts:graph.",
      expect.stringMatching(/^The file graph\.ts exports no `grap`\. It exports .*Did you mean `graph`\?$/),
      "Expected `noGraph` of graph.ts to be a graph, or a function that returns one. Name your graph: --graph ./src/agent.ts:graph",
    ]);
  });

  it("needs the graph of a database to repair it, or to take a repair back", async () => {
    const { folder } = await makeDatabase();
    writeFileSync(
      join(folder, "r.jsonl"),
      `${JSON.stringify({ schemaVersion: 1, kind: "intent", id: "1", threadId: "1", before: [], target: "sqlite:threads.db" })}\n`,
    );
    for (const args of [["repair"], ["repair", "--apply", "--yes"], ["undo", "r.jsonl", "--yes"]])
      expect(await run([...args, "--sqlite", "threads.db"], { folder })).toEqual({
        code: 2,
        output: "",
        errors:
          "A database is repaired through your graph, and there is no langgraph.json in this folder. Name your graph: --graph ./src/agent.ts:graph\n",
      });
  });

  it("takes the graph from langgraph.json, a function that returns one too", async () => {
    const { path } = await makeDatabase();
    const config = join(import.meta.dirname, "../../fixtures/doctor");
    const several = await run(["doctor", "--sqlite", path], { folder: config });
    expect(several.errors).toBe(
      "langgraph.json has several graphs: assistant, factory. Choose one with --graph, such as --graph assistant.\n",
    );
    for (const graph of ["assistant", "factory"])
      expect((await run(["doctor", "--sqlite", path, "--graph", graph], { folder: config })).code).toBe(1);
  });
});

it.each(["--version", "-v"])("%s prints the version of the package", async (option) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"));
  expect(await run([option])).toEqual({ code: 0, output: `${version}\n`, errors: "" });
});

describe("--help", () => {
  it("ends with the failure of its output", async () => {
    const write = async (): Promise<never> => {
      throw new Error("ENOSPC: no space left on device, write");
    };
    const output = { isTerminal: false, hasColours: false, write };
    const { code, errors } = await run(["doctor", "--help"], { output });
    expect(code).not.toBe(0);
    expect(errors).toContain("ENOSPC");
  });

  const names = Object.keys(COMMANDS);

  it.each([[], ...names.map((name) => [name])])("is printed by help %s too", async (...command) => {
    expect(await run(["help", ...command])).toEqual(await run([...command, "--help"]));
  });

  it.each([
    ["doctor", TARGETS],
    ["repair", TARGETS],
    ["undo", TARGETS.filter(({ canWrite }) => canWrite)],
    ["explain", []],
  ])("of %s lists the options of the targets that it takes, and those alone", async (command, targets) => {
    const { output } = await run([command, "--help"]);
    const all = TARGETS.flatMap(({ option, further }) => [option, ...further]).map(({ flags }) => flags);
    const taken = targets.flatMap(({ option, further }) => [option, ...further]).map(({ flags }) => flags);
    expect(all.filter((flags) => output.includes(`\n  ${flags} `))).toEqual(
      all.filter((flags) => taken.includes(flags)),
    );
  });

  it.each([undefined, ...names])(
    "of %s has an example, fits into 80 columns where it can, and ends with 0",
    async (command) => {
      const { code, output } = await run([...(command === undefined ? [] : [command]), "--help"]);
      expect(code).toBe(0);
      expect(output).toMatch(/^Examples:\n {2}npx langgraph-tether /m);
      const lines = output.split("\n");
      expect(lines.filter((line) => line.length > 80 && !line.includes("npx langgraph-tether"))).toEqual([]);
    },
  );

  it("of all commands is what docs/doctor.md tells", async () => {
    const text = readFileSync(join(import.meta.dirname, "../../../docs/doctor.md"), "utf8");
    const told = new Set(text.match(/(?<=[`, ])--[a-z][a-z-]*/g));
    const known = new Set(
      Object.values(COMMANDS)
        .flatMap(({ options }) => Object.values(options).flat())
        .map(({ long }) => String(long)),
    );
    expect([...known].filter((name) => !told.has(name))).toEqual([]);
    expect([...told].filter((name) => !known.has(name) && name !== "--help")).toEqual([]);
  });
});
