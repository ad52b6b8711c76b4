/** Runs commands of the doctor in this process, and makes the threads that they read. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { onTestFinished } from "vitest";
import type { CommandIo } from "../../../src/doctor/command/command-io.js";
import { runCommandLine } from "../../../src/doctor/command/run-command-line.js";
import { serveInspector } from "../../../src/inspector/serve.js";
import { builder } from "../../fixtures/doctor/graph.js";

/** The printed command on one line. Where it is broken depends on the length of this folder's path. */
export function onOneLine(output: string): string {
  return output.replaceAll(/ \\\n +/g, " ").replaceAll(GRAPH, "GRAPH");
}

export const GRAPH = `${join(import.meta.dirname, "../../fixtures/doctor/graph.ts")}:graph`;

export interface Ran {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

type Given = Partial<CommandIo> & { readonly isTerminal?: boolean; readonly hasColours?: boolean };

/** Runs a command line to its end. By default nobody can be asked, and no output is a terminal. */
export async function run(args: readonly string[], given: Given = {}): Promise<Ran> {
  const texts = { output: "", errors: "" };
  const { isTerminal = false, hasColours = false, ...io } = given;
  const collect = (name: keyof typeof texts) => ({
    isTerminal,
    hasColours,
    write: async (text: string) => {
      texts[name] += text;
    },
  });
  const code = await runCommandLine(args, {
    output: collect("output"),
    errors: collect("errors"),
    readInput: async () => "",
    canAsk: false,
    ask: async () => "",
    environment: {},
    folder: process.cwd(),
    signal: new AbortController().signal,
    serveInspector,
    now: () => Date.parse("2026-01-31T12:00:00Z"),
    ...io,
  });
  return { code, ...texts };
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tether-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const call = (id: string) =>
  new AIMessage({
    id: `ai-${id}`,
    content: "",
    tool_calls: [{ id, name: "weather", args: { city: "Oslo" } }],
  });
const result = (id: string) =>
  new ToolMessage({ id: `result-${id}`, tool_call_id: id, name: "weather", content: "18 degrees" });
const human = (id: string, content: string) => new HumanMessage({ id, content });

export const THREADS: Readonly<Record<string, readonly BaseMessage[]>> = {
  "1-sound": [
    human("h1", "The weather?"),
    call("c1"),
    result("c1"),
    new AIMessage({ id: "a1", content: "18." }),
  ],
  "2-dangling": [human("h1", "The secret word is fish"), call("c1"), human("h2", "Are you there?")],
  "3-orphan": [result("c9"), human("h1", "Hello")],
  "4-sound": [human("h1", "Hello"), new AIMessage({ id: "a1", content: "Hi!" })],
};

export async function writeThreads(
  checkpointer: BaseCheckpointSaver,
  threads: Readonly<Record<string, readonly BaseMessage[]>> = THREADS,
): Promise<void> {
  const graph = builder.compile({ checkpointer });
  for (const [thread_id, messages] of Object.entries(threads))
    await graph.invoke(
      { messages: [...messages], todos: [`todo of ${thread_id}`] },
      { configurable: { thread_id }, metadata: { team: thread_id.startsWith("2") ? "red" : "blue" } },
    );
}

/** An SQLite file in a folder of its own, and a way to run commands over it. */
export async function makeDatabase(threads = THREADS) {
  const folder = makeFolder();
  const path = join(folder, "threads.db");
  const saver = SqliteSaver.fromConnString(path);
  await writeThreads(saver, threads);
  saver.db.close();
  const over = (args: readonly string[], given: Given = {}) =>
    run([...args, "--sqlite", "threads.db", "--graph", GRAPH], { folder, ...given });
  /** With what it prints as JSON. */
  const jsonOver = async (args: readonly string[], given: Given = {}) => {
    const { code, output } = await over([...args, "--format", "json"], given);
    return { code, output, ...JSON.parse(output) };
  };
  return { folder, path, over, jsonOver };
}

/** The statement of docs/production.md that begins with these words. */
export function documentedSql(beginning: string): string {
  const text = readFileSync(join(import.meta.dirname, "../../../docs/production.md"), "utf8");
  const statements = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = ""]) => sql);
  return statements.find((sql) => sql.startsWith(beginning)) ?? "";
}

export async function readState(path: string, thread_id: string) {
  const saver = SqliteSaver.fromConnString(path);
  try {
    return (await builder.compile({ checkpointer: saver }).getState({ configurable: { thread_id } })).values;
  } finally {
    saver.db.close();
  }
}
