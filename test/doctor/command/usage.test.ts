import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/doctor/command/options.js";
import { GRAPH, makeDatabase, makeFolder, run } from "./command-line.js";

const SECRET = "hunter2secret";

describe("a command line that cannot be run ends with 2, and says what is wrong", () => {
  it.each([
    [
      ["doctr"],
      "There is no command `doctr`. The commands are doctor, repair, undo, explain, size, inspect. Did you mean `doctor`?",
    ],
    [["--sqlite", "x"], "Expected a command first, got `--sqlite`. See langgraph-tether --help."],
    [
      ["doctor"],
      "Expected a target: one of --url ADDRESS, --postgres ADDRESS, --sqlite FILE or --file FILE.",
    ],
    [
      ["doctor", "--sqlit", "x"],
      "`doctor` has no option --sqlit. Did you mean `--sqlite`? See langgraph-tether doctor --help.",
    ],
    [["doctor", "--apply"], "`doctor` has no option --apply. It belongs to repair."],
    [["doctor", "--limit"], "--limit needs a value: --limit COUNT."],
    [["doctor", "--thread", "--quiet"], "--thread needs a value: --thread ID...."],
    [["doctor", "--limit", "many"], "Expected --limit to be an integer of 1 or more, got `many`."],
    [
      ["doctor", "--format", "jsn"],
      "Expected --format to be text, json or ndjson, got `jsn`. Did you mean `json`?",
    ],
    [["doctor", "--dialect", "antropic"], /Did you mean `anthropic`\?$/],
    [["doctor", "--fail-on", "info"], "Expected --fail-on to be error, warning or never, got `info`."],
    [["doctor", "--since", "yesterday"], /^Expected --since to be a span such as 30m/],
    [["doctor", "--metadata", "team"], "Expected --metadata to be KEY=VALUE."],
    [["doctor", "--redact", "--no-redact"], "Give --redact or --no-redact, and not both."],
    [["doctor", "--limit", "1", "--limit", "2"], "--limit was given twice."],
    [["doctor", "--quiet=no"], "--quiet takes no value."],
    [
      ["doctor", "threads.db"],
      "`doctor` takes no `threads.db`. Name the target with --url, --postgres, --sqlite or --file.",
    ],
    [["doctor", "--sqlite", "a", "--file", "b"], "Expected one target, got --sqlite and --file."],
    [["doctor", "--sqlite", "a", "--schema", "b"], "--schema belongs to --postgres, not to --sqlite."],
    [["doctor", "--sqlite", "nobody.db"], "There is no file nobody.db."],
    [["doctor", "--file", "nobody.json"], "There is no file nobody.json."],
    [["doctor", "--url", "localhost"], "Expected --url to be an address such as http://localhost:2024."],
    [
      ["doctor", "--url", "http://127.0.0.1:9", "--api-key-env", "NOBODY"],
      "The environment variable NOBODY of --api-key-env is not set.",
    ],
    [["doctor", "--url", "http://127.0.0.1:9"], /^http:\/\/127\.0\.0\.1:9: there is no server: /],
    [["doctor", "--postgres", "mysql://x"], /^Expected --postgres to be an address such as postgresql:/],
    [["repair", "--file", "x", "--apply", "--yes"], /^A file cannot be repaired in place\./],
    [["repair", "--sqlite", "x", "--apply"], "Nobody can be asked here, so --apply needs --yes."],
    [
      ["repair", "--sqlite", "x", "--receipt", "r"],
      "--receipt needs --apply: without it, nothing is written.",
    ],
    [["undo"], /^Nobody can be asked|^Expected one receipt/],
    [["undo", "nobody.jsonl", "--yes"], "There is no file nobody.jsonl."],
    [["explain"], /^Expected one file, or - for standard input/],
    [["size", "--file", "-"], "`size` has no option --file. It belongs to doctor, repair, inspect."],
    [["size", "--url", "x"], "`size` has no option --url. It belongs to doctor, repair, undo, inspect."],
    [["size"], "Expected a target: one of --postgres ADDRESS or --sqlite FILE."],
    [["size", "threads.db"], "`size` takes no `threads.db`. Name the target with --postgres or --sqlite."],
    [
      ["help", "doctr"],
      "There is no command `doctr`. The commands are doctor, repair, undo, explain, size, inspect. Did you mean `doctor`?",
    ],
  ])("%j", async (args, expected) => {
    const readInput = async () => "[]";
    const { code, output, errors } = await run(args, { folder: makeFolder(), readInput });
    expect(code).toBe(2);
    expect(output).toBe("");
    if (typeof expected === "string") expect(errors).toBe(`${expected}\n`);
    else expect(errors.trimEnd()).toMatch(expected);
  });

  it("does not print a password", async () => {
    for (const address of [`postgresql://me:${SECRET}@127.0.0.1:9/x`, `postgres://${SECRET}`]) {
      const { code, errors } = await run(["doctor", "--postgres", address]);
      expect(code).toBe(2);
      if (address.includes("@"))
        expect(errors).toContain("postgresql://me:***@127.0.0.1:9/x cannot be opened");
      else continue;
      expect(errors).not.toContain(SECRET);
    }
  });

  it("names a file that is no database, one without the tables, and a graph that is not there", async () => {
    const { folder, file } = await makeDatabase();
    writeFileSync(join(folder, "text.db"), "This is a text of some length.");
    SqliteSaver.fromConnString(join(folder, "other.db")).db.exec("CREATE TABLE notes (text TEXT)").close();
    const graphFile = GRAPH.slice(0, -":graph".length);
    const texts = [];
    for (const args of [
      ["--sqlite", "text.db"],
      ["--sqlite", "other.db"],
      ["--sqlite", file],
      ["--sqlite", file, "--graph", "nobody.ts:graph"],
      ["--sqlite", file, "--graph", `${graphFile}:grap`],
      ["--sqlite", file, "--graph", `${graphFile}:noGraph`],
    ]) {
      const { code, errors } = await run(["doctor", ...args], { folder });
      expect(code).toBe(2);
      texts.push(errors.replaceAll(graphFile, "graph.ts").trimEnd());
    }
    expect(texts).toEqual([
      "The file text.db is not an SQLite database.",
      "The SQLite file other.db has no tables `checkpoints` and `writes`, so no LangGraph checkpointer has written to it.",
      "Reading a database needs your graph, and there is no langgraph.json in this folder. Name your graph: --graph ./src/agent.ts:graph",
      "There is no file nobody.ts for the graph nobody.ts:graph.",
      expect.stringMatching(/^The file graph\.ts exports no `grap`\. It exports .*Did you mean `graph`\?$/),
      "Expected `noGraph` of graph.ts to be a graph, or a function that returns one. Name your graph: --graph ./src/agent.ts:graph",
    ]);
  });

  it("takes the graph from langgraph.json, a function that returns one too", async () => {
    const { folder, file } = await makeDatabase();
    const config = join(import.meta.dirname, "../../fixtures/doctor");
    const path = join(folder, file);
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
  it.each([[], ...COMMANDS.map((command) => [command])])("is printed by help %s too", async (...command) => {
    expect(await run(["help", ...command])).toEqual(await run([...command, "--help"]));
  });

  it.each([
    ["doctor", "--url, --postgres, --sqlite or --file"],
    ["repair", "--url, --postgres, --sqlite or --file"],
    ["undo", "--url, --postgres or --sqlite"],
    ["size", "--postgres or --sqlite"],
    ["explain", undefined],
  ])("of %s names the targets that it takes, and lists their options alone", async (command, targets) => {
    const { output } = await run([command, "--help"]);
    const [, named] = /^Where the threads are \(choose one of (.*)\):$/m.exec(output) ?? [];
    expect(named).toBe(targets);
    const listed = ["--url", "--postgres", "--sqlite", "--file"].filter((name) =>
      output.includes(`\n  ${name} `),
    );
    expect(listed).toEqual(targets?.split(/, | or /) ?? []);
    expect(/^ {2}--(?:api-key-env|header) /m.test(output)).toBe(listed.includes("--url"));
  });

  it.each([undefined, ...COMMANDS])(
    "of %s begins with an example, fits into 80 columns where it can, and ends with 0",
    async (command) => {
      const { code, output } = await run([...(command === undefined ? [] : [command]), "--help"]);
      expect(code).toBe(0);
      const lines = output.split("\n");
      expect(lines[2]).toMatch(/^ {2}npx langgraph-tether /);
      expect(lines.filter((line) => line.length > 80 && !line.includes("npx langgraph-tether"))).toEqual([]);
      expect(output).toMatch(command === "doctor" ? /never|only reads/ : /./);
    },
  );
});
