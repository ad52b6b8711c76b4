import { join } from "node:path";
import { RunControl } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { inThread, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";
import { makeFolder, run } from "./command-line.js";

/** A file with threads that were drained, failed and killed, one that waits for a human, and one that is finished. */
async function makeThreads() {
  const folder = makeFolder();
  const saver = SqliteSaver.fromConnString(join(folder, "threads.db"));
  const { fast, deaf } = createProbe();
  const { mortal, die } = mortalSaver(saver);
  const controller = new AbortController();
  const model = new FunctionModel(async ({ messages }) => {
    const last = messages.at(-1);
    if (last?.text === "die") return calls(["look"]);
    // With the durability `sync`, the checkpoints before are saved by now.
    if (last?.type === "tool") {
      die();
      controller.abort();
    }
    if (last?.text === "ask") return calls(["fast", { secret: "fish" }]);
    return last?.text === "secret words" ? new Error("secret words") : "Hello.";
  });
  const parts = {
    model,
    tools: [fast, deaf, makeTool("look", async () => "seen")],
    checkpointer: saver,
    requireApproval: ["fast"],
  };
  const agent = createAgentGraph(parts);
  await agent.invoke(user("Hello"), inThread("finished"));
  await agent.invoke(user("ask"), inThread("waiting"));
  await agent.invoke(user("secret words"), inThread("failed")).catch(() => {});
  const control = new RunControl();
  control.requestDrain("deploy");
  await agent.invoke(user("go"), { ...inThread("drained"), control }).catch(() => {});
  const mortalAgent = createAgentGraph({ ...parts, checkpointer: mortal });
  const { signal } = controller;
  await mortalAgent
    .invoke(user("die"), { ...inThread("killed"), durability: "sync", signal })
    .catch(() => {});
  const { ts = "" } = (await saver.getTuple(inThread("killed")))?.checkpoint ?? {};
  saver.db.close();
  /** An hour after the last write. */
  const now = () => Date.parse(ts) + 3_600_000;
  const over = (...args: string[]) => run(["unfinished", "--sqlite", "threads.db", ...args], { folder, now });
  return over;
}

it("lists what is unfinished, without texts, and ends with 1", async () => {
  const over = await makeThreads();
  const { code, output } = await over();
  expect(code).toBe(1);
  expect(output.split("\n")).toEqual([
    "tether unfinished · sqlite:threads.db",
    "",
    "  ! drained · cancelled · 1 hour ago",
    "      The last run has noted that it was cancelled.",
    "  ✗ failed · failed · 1 hour ago",
    "      The last run has noted that it failed.",
    "  ! killed · stopped early · 1 hour ago",
    "      Nothing tells how its last run ended: its process was killed, or it was",
    "      run without this library.",
    "  · waiting · waiting for a human (fast) · 1 hour ago",
    "      It asks 1 question.",
    expect.stringMatching(/^ {6}fast \(call_\d+\): a human is asked$/),
    "",
    "  · No graph is named, so it is not known where its nodes stop for a human. Name",
    "    it: --graph ./src/agent.ts:graph",
    "  4 threads are unfinished: 1 waiting for a human, 1 cancelled, 1 failed, 1",
    "  stopped early.",
    "",
  ]);
});

it("says that a run may be going on where the thread was written in this span", async () => {
  const over = await makeThreads();
  const { code, output } = await over("--format", "json", "--quiet-for", "2h");
  expect(code).toBe(1);
  const report = JSON.parse(output);
  expect(report).toMatchObject({ outcome: "unfinished", counts: { goingOn: 1, waiting: 1, cancelled: 1 } });
  expect(report.threads.at(-1)).toMatchObject({ questions: { count: 1, tools: ["fast"] } });
  expect(output).not.toContain("secret");
  expect(output).not.toContain("fish");
});

it("ends with 0 if nothing is unfinished, and with 2 for a wrong span", async () => {
  const over = await makeThreads();
  expect(await over("--thread", "finished")).toMatchObject({
    code: 0,
    output: expect.stringContaining("No thread is unfinished."),
  });
  expect(await over("--quiet-for", "2026-01-31")).toMatchObject({
    code: 2,
    errors: expect.stringContaining("Expected a span such as 0s, 30m or 12h."),
  });
});
