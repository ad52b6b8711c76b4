/** Graphs whose `messages` are a delta channel, and threads that change from one channel to the other. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { UPDATES_BETWEEN_SNAPSHOTS } from "../../../src/threads/langgraph/channels.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { mortalSaver, SAVERS } from "../../support/mortal-saver.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = inThread("1");
const echo = () => new FunctionModel(({ text }) => `re ${text}`);
const CHANNELS = ["full", "delta"] as const;

const storedLists = async (saver: ReturnType<(typeof SAVERS)[number]["create"]>) => {
  const held: boolean[] = [];
  for await (const { checkpoint } of saver.list(config)) held.push("messages" in checkpoint.channel_values);
  return held;
};

describe.each(SAVERS)("with a delta channel and a $name", ({ create }) => {
  it("a checkpoint does not hold the history, and the next run reads it", async () => {
    const saver = create();
    const graph = () => createAgentGraph({ model: echo(), checkpointer: saver, messagesChannel: "delta" });
    for (const text of ["one", "two"]) await graph().invoke(user(text), config);
    expect((await storedLists(saver)).filter(Boolean)).toHaveLength(0);
    const lines = ["human: one", "ai: re one", "human: two", "ai: re two"];
    expect(pairedScript((await graph().getState(config)).values)).toEqual(lines);
  });

  it("other messages of parallel tools stay in the order that the run showed", async () => {
    const note = makeTool(
      "note",
      ({ label }: { label: string }, { toolCallId }: ToolRuntime) =>
        new Command({
          update: {
            messages: [
              new ToolMessage({ content: label, tool_call_id: toolCallId }),
              new HumanMessage(`NOTE ${label}`),
            ],
          },
        }),
      z.object({ label: z.string() }),
    );
    const labels = ["1", "2", "3", "4", "5", "6"];
    const model = new FunctionModel(({ messages }) =>
      messages.some(({ type }) => type === "tool")
        ? "Done."
        : new AIMessage({
            content: "",
            tool_calls: labels.map((label) => ({ id: `c${label}`, name: "note", args: { label } })),
          }),
    );
    const checkpointer = create();
    const graph = createAgentGraph({ model, tools: [note], checkpointer, messagesChannel: "delta" });
    const shown = script(messagesOf(await graph.invoke(user("Go."), config)));
    expect(script(messagesOf((await graph.getState(config)).values))).toEqual(shown);
    expect(shown.filter((line) => line.includes("NOTE"))).toEqual(
      labels.map((label) => `human: NOTE ${label}`),
    );
  });

  it.each(DURABILITIES)("a thread changes to delta and back, and loses nothing (%s)", async (durability) => {
    const saver = create();
    const lines: string[] = [];
    for (const [index, messagesChannel] of [...CHANNELS, ...CHANNELS, "delta" as const].entries()) {
      for (const number of [1, 2]) {
        const graph = createAgentGraph({ model: echo(), checkpointer: saver, messagesChannel });
        const text = `${messagesChannel} ${index}.${number}`;
        lines.push(`human: ${text}`, `ai: re ${text}`);
        expect(pairedScript(await graph.invoke(user(text), { ...config, durability }))).toEqual(lines);
      }
      for (const messagesChannel of CHANNELS) {
        const reader = createAgentGraph({ model: echo(), checkpointer: saver, messagesChannel });
        expect(pairedScript((await reader.getState(config)).values)).toEqual(lines);
      }
    }
  });

  it.each([
    ["full", "delta"],
    ["delta", "full"],
  ] as const)(
    "what a dead run left is recovered when a thread changes from %s to %s",
    async (before, after) => {
      const saver = create();
      const { mortal, die } = mortalSaver(saver, ["put"]);
      const doomed = new FunctionModel(() => {
        die();
        return "THE ANSWER";
      });
      const graph = (model: FunctionModel, checkpointer: typeof saver, messagesChannel: "full" | "delta") =>
        createAgentGraph({ model, checkpointer, messagesChannel });
      await graph(echo(), saver, before).invoke(user("q0"), config);
      const run = graph(doomed, mortal, before).invoke(user("q1"), { ...config, durability: "sync" });
      await expect(run).rejects.toThrow("died");
      expect(pairedScript(await graph(echo(), saver, after).invoke(user("q2"), config))).toEqual([
        "human: q0",
        "ai: re q0",
        "human: q1",
        "ai: THE ANSWER",
        "human: q2",
        "ai: re q2",
      ]);
    },
  );
});

const [memory] = SAVERS;
if (memory === undefined) throw new Error("There is no saver.");

it("a dead run on a snapshot of a long thread is recovered", async () => {
  const saver = memory.create();
  const graph = createAgentGraph({ model: echo(), checkpointer: saver, messagesChannel: "delta" });
  for (let update = 0; update < UPDATES_BETWEEN_SNAPSHOTS - 2; update += 1)
    await graph.updateState(config, user(`${update}`), "model");
  for (let turn = 0; turn < 4; turn += 1) {
    const { mortal, die } = mortalSaver(saver, ["put"]);
    const model = new FunctionModel(() => {
      die();
      return `ANSWER ${turn}`;
    });
    const doomed = createAgentGraph({ model, checkpointer: mortal, messagesChannel: "delta" });
    const run = doomed.invoke(user(`q${turn}`), { ...config, durability: "sync" });
    await expect(run).rejects.toThrow("died");
  }
  const lines = pairedScript(await graph.invoke(user("last"), config)).slice(UPDATES_BETWEEN_SNAPSHOTS - 2);
  expect(lines).toEqual([
    ...[0, 1, 2, 3].flatMap((turn) => [`human: q${turn}`, `ai: ANSWER ${turn}`]),
    "human: last",
    "ai: re last",
  ]);
  expect((await storedLists(saver)).filter(Boolean).length).toBeGreaterThan(0);
});
