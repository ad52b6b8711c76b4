/** Graphs whose `messages` are a delta channel, and threads that change from one channel to the other. */

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { type CheckpointTuple, Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { allOf } from "../../support/async.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { UPDATES_BETWEEN_SNAPSHOTS } from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver, SAVERS } from "../../support/mortal-saver.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

const config = inThread("1");
const CHANNELS = ["full", "delta"] as const;
type Saver = ReturnType<(typeof SAVERS)[number]["create"]>;

/** An agent that repeats what the user says, over the delta channel. */
const graphOf = (
  checkpointer: Saver,
  messagesChannel: (typeof CHANNELS)[number] = "delta",
  options: object = {},
) =>
  createAgentGraph({
    model: new FunctionModel(({ text }) => `re ${text}`),
    checkpointer,
    messagesChannel,
    ...options,
  });

/** A run that dies when its model has responded. */
async function dies(
  saver: Saver,
  text: string,
  answer: string,
  channel: (typeof CHANNELS)[number] = "delta",
) {
  const { mortal, die } = mortalSaver(saver, ["put"]);
  const model = new FunctionModel(() => {
    die();
    return answer;
  });
  const run = graphOf(mortal, channel, { model }).invoke(user(text), { ...config, durability: "sync" });
  await expect(run).rejects.toThrow("died");
}

/** How many checkpoints have the whole list. */
const storedLists = async (saver: Saver) =>
  (await allOf<CheckpointTuple>(saver.list(config))).filter(
    ({ checkpoint }) => "messages" in checkpoint.channel_values,
  ).length;

describe.each(SAVERS)("with a delta channel and a $name", ({ create }) => {
  it("a checkpoint does not hold the history, and the next run reads it", async () => {
    const saver = create();
    for (const text of ["one", "two"]) await graphOf(saver).invoke(user(text), config);
    expect(await storedLists(saver)).toBe(0);
    expect(pairedScript((await graphOf(saver).getState(config)).values)).toEqual(
      lines("human: one | ai: re one", "human: two | ai: re two"),
    );
  });

  it("other messages of parallel tools stay in the order that the run showed", async () => {
    const note = makeTool(
      "note",
      ({ label }, { toolCallId }: ToolRuntime) => {
        const result = new ToolMessage({ content: label, tool_call_id: toolCallId });
        return new Command({ update: { messages: [result, new HumanMessage(`NOTE ${label}`)] } });
      },
      z.object({ label: z.string() }),
    );
    const labels = ["1", "2", "3", "4", "5", "6"];
    const model = new FunctionModel(({ messages }) =>
      messages.length > 1 ? "Done." : calls(...labels.map((label) => ["note", { label }] as const)),
    );
    const graph = graphOf(create(), "delta", { model, tools: [note] });
    const shown = script(messagesOf(await graph.invoke(user("Go."), config)));
    expect(script(messagesOf((await graph.getState(config)).values))).toEqual(shown);
    expect(shown.filter((line) => line.includes("NOTE"))).toEqual(
      labels.map((label) => `human: NOTE ${label}`),
    );
  });

  it.each(DURABILITIES)("a thread changes to delta and back, and loses nothing (%s)", async (durability) => {
    const saver = create();
    const said: string[] = [];
    for (const [index, messagesChannel] of [...CHANNELS, ...CHANNELS, "delta" as const].entries()) {
      for (const number of [1, 2]) {
        const text = `${messagesChannel} ${index}.${number}`;
        const after = await graphOf(saver, messagesChannel).invoke(user(text), { ...config, durability });
        said.push(`human: ${text}`, `ai: re ${text}`);
        expect(pairedScript(after)).toEqual(said);
      }
      for (const messagesChannel of CHANNELS) {
        const reader = graphOf(saver, messagesChannel);
        expect(pairedScript((await reader.getState(config)).values)).toEqual(said);
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
      await graphOf(saver, before).invoke(user("q0"), config);
      await dies(saver, "q1", "THE ANSWER", before);
      expect(pairedScript(await graphOf(saver, after).invoke(user("q2"), config))).toEqual(
        lines("human: q0 | ai: re q0", "human: q1 | ai: THE ANSWER", "human: q2 | ai: re q2"),
      );
    },
  );
});

it("a dead run on a snapshot of a long thread is recovered", async () => {
  const saver = new MemorySaver();
  const graph = graphOf(saver);
  const updates = UPDATES_BETWEEN_SNAPSHOTS - 2;
  for (let update = 0; update < updates; update += 1)
    await graph.updateState(config, user(`${update}`), "model");
  for (const turn of [0, 1, 2, 3]) await dies(saver, `q${turn}`, `ANSWER ${turn}`);
  expect(pairedScript(await graph.invoke(user("last"), config)).slice(updates)).toEqual([
    ...[0, 1, 2, 3].flatMap((turn) => [`human: q${turn}`, `ai: ANSWER ${turn}`]),
    "human: last",
    "ai: re last",
  ]);
  expect(await storedLists(saver)).toBeGreaterThan(0);
});
