/** Threads that another agent wrote, on the same database: this library's agent goes on with them, and they can go back. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { calls, FunctionModel } from "../support/models.js";
import { inThread, messagesOf, pairedScript, script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const config = inThread("1");

function openFolder() {
  const folder = mkdtempSync(join(tmpdir(), "tether-upgrade-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const connect = (name = "threads"): SqliteSaver => {
    const saver = SqliteSaver.fromConnString(join(folder, `${name}.sqlite`));
    onTestFinished(() => void saver.db.close());
    return saver;
  };
  return { folder, connect };
}

/** Calls a tool once for each message, and says done. */
const model = () =>
  new FunctionModel(({ messages, text }) =>
    messages.at(-1)?.type === "tool" ? "done" : calls(["fast", { label: text }, text]),
  );
const turn = (text: string) => [`human: ${text}`, "ai> fast", `tool: fast done ${text}`, "ai: done"];
const { fast, heedful } = createProbe();
const tools = [fast, heedful];

interface Other {
  invoke(input: object, options: object): Promise<unknown>;
}
const keepsCustomer = createMiddleware({
  name: "keepsCustomer",
  stateSchema: z.object({ customer: z.string().optional() }),
});
const OTHERS: Readonly<Record<string, (checkpointer: BaseCheckpointSaver, model: FunctionModel) => Other>> = {
  createAgent: (checkpointer, llm) =>
    createAgent({ model: llm, tools, checkpointer, middleware: [keepsCustomer] }) as Other,
  createReactAgent: (checkpointer, llm) =>
    createReactAgent({ llm, tools, checkpointSaver: checkpointer }) as Other,
};

describe.each(Object.keys(OTHERS))("A thread of %s", (name) => {
  const other = OTHERS[name] as (typeof OTHERS)[string];

  it.each(["full", "delta"] as const)("goes on here, and there again (%s)", async (messagesChannel) => {
    const { connect } = openFolder();
    await other(connect(), model()).invoke(user("a"), config);
    await other(connect(), model()).invoke(user("b"), config);
    const ours = createAgentGraph({ model: model(), tools, checkpointer: connect(), messagesChannel });
    expect(script(messagesOf((await ours.getState(config)).values))).toEqual([...turn("a"), ...turn("b")]);
    expect(pairedScript(await ours.invoke(user("c"), config))).toEqual(["a", "b", "c"].flatMap(turn));
    const back = await other(connect(), model()).invoke(user("d"), config);
    expect(script(messagesOf(back))).toEqual(["a", "b", "c", "d"].flatMap(turn));
  });

  it("that was cancelled is repaired by the first message", async () => {
    const { connect } = openFolder();
    const abort = new AbortController();
    const asking = new FunctionModel(() => calls(["fast", { label: "x" }, "a"], ["heedful", {}, "b"]));
    const run = other(connect(), asking).invoke(user("go"), {
      ...config,
      signal: abort.signal,
      durability: "sync",
    });
    const reader = createAgentGraph({ model: model(), tools, checkpointer: connect() });
    await expect
      .poll(async () => script(messagesOf((await reader.getState(config)).values)))
      .toContain("ai> fast heedful");
    abort.abort();
    await expect(run).rejects.toThrow(/abort/i);
    const ours = createAgentGraph({ model: model(), tools, checkpointer: connect() });
    expect(pairedScript(await ours.invoke(user("c"), config))).toEqual([
      "human: go",
      "ai> fast heedful",
      expect.stringMatching(/^tool[!:]/),
      expect.stringMatching(/^tool! Tool call heedful/),
      ...turn("c"),
    ]);
  });
});

it("Own keys of the other agent stay in the thread if the new one declares them", async () => {
  const { connect } = openFolder();
  const before = OTHERS["createAgent"]?.(connect(), model());
  await before?.invoke({ ...user("a"), customer: "ann" }, config);
  const stateSchema = z.object({ customer: z.string().optional() });
  const ours = createAgentGraph({ model: model(), tools, checkpointer: connect(), stateSchema });
  expect(await ours.invoke(user("b"), config)).toMatchObject({ customer: "ann" });
  expect(await before?.invoke(user("c"), config)).toMatchObject({ customer: "ann" });
});

it("A backup of SQLite that is made while the database is used has every thread", async () => {
  const { folder, connect } = openFolder();
  const saver = connect();
  const agent = (checkpointer: SqliteSaver) => createAgentGraph({ model: model(), tools, checkpointer });
  await agent(saver).invoke(user("a"), config);
  await saver.db.backup(join(folder, "backup.sqlite"));
  saver.db.exec(`VACUUM INTO '${join(folder, "copy.sqlite")}'`);
  await agent(saver).invoke(user("b"), config);
  for (const name of ["backup", "copy"])
    expect(pairedScript(await agent(connect(name)).invoke(user("c"), config))).toEqual(
      ["a", "c"].flatMap(turn),
    );
});
