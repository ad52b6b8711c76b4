/** Agents whose `messages` are a delta channel. Their checkpoints do not hold the history. */

import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { tetherState } from "../../src/langchain.js";
import { DURABILITIES } from "../support/crashing-thread.js";
import { calls } from "../support/models.js";
import { SAVERS } from "../support/mortal-saver.js";
import { openAgent } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const CLOSED =
  "tool! Tool call heedful (h): a new message came before it finished. It may or may not have taken effect.";

function open(saver: (typeof SAVERS)[number], steps: readonly Step[]) {
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful];
  const options = { checkpointer: saver.create(), stateSchema: tetherState({ delta: true }) };
  return { probe, thread: openAgent({ model: scripted(...steps), tools, ...options }) };
}

it.each(
  SAVERS.flatMap((saver) => DURABILITIES.map((durability) => ({ saver, name: saver.name, durability }))),
)("the finished result of a cancelled run is there: $name, $durability", async ({ saver, durability }) => {
  const batch = calls(["fast", {}, "f"], ["heedful", {}, "h"]);
  const { probe, thread } = open(saver, ["Hello.", batch, "Better now?", "Thanks."]);
  await thread.send("Hi.");
  const controller = new AbortController();
  const run = thread.run(user("Go."), { signal: controller.signal, durability });
  await probe.hasBegun(2);
  await expect.poll(() => probe.ends).toContain("fast:-");
  controller.abort();
  expect((await run).error).toBeDefined();

  const { events, error } = await thread.run(user("Hello?"), { durability });
  expect(error).toBeUndefined();
  expect(events.map(({ type }) => type)).toEqual(["result-recovered", "call-closed"]);
  const expected = [
    "human: Hi.",
    "ai: Hello.",
    "human: Go.",
    "ai> fast heedful",
    "tool: fast done -",
    CLOSED,
    "human: Hello?",
    "ai: Better now?",
  ];
  expect(script(await thread.read())).toEqual(expected);

  await thread.update([new ToolMessage({ content: "late", tool_call_id: "h" })]);
  const lines = script(await thread.send("And now?"));
  expect(lines.slice(0, 8)).toEqual(expected.map((line) => (line === CLOSED ? "tool: late" : line)));
  expect(lines.slice(8)).toEqual(["human: And now?", "ai: Thanks."]);
});

it("a checkpoint does not hold the history", async () => {
  const [saver] = SAVERS;
  if (saver === undefined) throw new Error("There is no saver.");
  const { thread } = open(saver, ["Hello."]);
  await thread.send("Hi.");
  const { checkpointer } = thread.agent.graph;
  const tuple = await (checkpointer as ReturnType<typeof saver.create>).getTuple(thread.config);
  expect(tuple?.checkpoint.channel_values).not.toHaveProperty("messages");
  expect((await thread.read()).every((message) => message.id !== undefined)).toBe(true);
  expect(AIMessage.isInstance((await thread.read())[1])).toBe(true);
});

it.each([
  [{ dleta: true }, "Unknown setting `dleta`"],
  [{ delta: 1 }, "`delta`"],
])("%j is refused by name", (options, text) => {
  expect(() => tetherState(options as never)).toThrow(text);
});
