/** The process dies after a human has decided. The thread must not say that nobody has. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { approve, asInput, askedLabels, edit } from "../../support/approval-graph.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver, SAVERS } from "../../support/mortal-saver.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

const config = inThread("1");
const isUnknown = (why: string) =>
  `tool! Tool call risky (a): ${why} before it finished. It may or may not have taken effect.`;
const APPROVED = { decisions: [approve] };

/** A thread that waits for a decision, and a graph whose process dies: in the tool, or before its checkpoint is saved. */
async function waitingThread(
  saver: BaseCheckpointSaver,
  options: { durability: (typeof DURABILITIES)[number] },
  dies: "in the tool" | "before the checkpoint",
  more: Partial<AgentGraphOptions> = {},
) {
  const runs: string[] = [];
  const open = (checkpointer: BaseCheckpointSaver, onRun = () => {}) => {
    const risky = makeTool(
      "risky",
      async ({ label }) => {
        runs.push(label);
        onRun();
        return `did ${label}`;
      },
      z.object({ label: z.string() }),
    );
    return createAgentGraph({
      model: new FunctionModel(({ messages }) =>
        messages.length === 1 ? calls(["risky", { label: "x" }, "a"]) : "fine",
      ),
      tools: [risky],
      requireApproval: ["risky"],
      checkpointer,
      ...more,
    });
  };
  const graph = open(saver);
  const run = (input: unknown, by = graph) => by.invoke(input as null, { ...config, ...options });
  expect(askedLabels(await run(user("go")))).toEqual(["x"]);
  const { tasks } = await graph.getState(config);
  const question = String(tasks[0]?.interrupts[0]?.id);
  return {
    runs,
    question,
    lines: async (input: unknown) => {
      const lines = pairedScript(await run(input));
      expect(pairedScript((await graph.getState(config)).values)).toEqual(lines);
      return lines;
    },
    die: async (resume: object) => {
      const { mortal, die } = mortalSaver(saver, dies === "in the tool" ? undefined : ["put"]);
      if (dies === "before the checkpoint") die();
      await expect(
        run(asInput({ resume }), open(mortal, dies === "in the tool" ? die : undefined)),
      ).rejects.toThrow("died");
      expect(runs).toEqual(["x"]);
    },
  };
}

const cases = SAVERS.flatMap((saver) => DURABILITIES.map((durability) => ({ ...saver, durability })));

describe.each(cases)("with a $name and the durability $durability", ({ create, durability }) => {
  const open = () => waitingThread(create(), { durability }, "in the tool");

  it.each(["alone", "with its question"])(
    "an approved call may have taken effect (decision %s)",
    async (how) => {
      const { die, lines, question } = await open();
      await die(how === "alone" ? APPROVED : { [question]: APPROVED });
      const UNKNOWN = isUnknown("a new message came");
      const all = ["human: go", "ai> risky", UNKNOWN, "human: next", "ai: fine"];
      expect(await lines(user("next"))).toEqual(all);
    },
  );

  it("a run that continues the dead one uses the decision, once if the call was saved before it ran", async () => {
    const { die, lines, runs } = await open();
    await die(APPROVED);
    const isSaved = durability !== "exit";
    const result = isSaved ? isUnknown("the run ended") : "tool: did x";
    expect(await lines(null)).toEqual(["human: go", "ai> risky", result, "ai: fine"]);
    expect(runs).toEqual(isSaved ? ["x"] : ["x", "x"]);
  });
});

describe.each(SAVERS)("with a $name, a delta channel and the durability exit", ({ create }) => {
  it.each<[title: string, input: unknown, lines: string[], runs: string[]]>([
    ["continues the dead one has the result", null, ["tool: did x", "ai: fine"], ["x"]],
    [
      "repeats its decision has the result",
      asInput({ resume: APPROVED }),
      ["tool: did x", "ai: fine"],
      ["x"],
    ],
    [
      "has new input has the result",
      user("never mind"),
      ["tool: did x", "ai: fine", "human: never mind", "ai: fine"],
      ["x"],
    ],
  ])("a run that %s, and the tool is not run again for nothing", async (_title, input, lines, runs) => {
    const delta = { messagesChannel: "delta" } as const;
    const thread = await waitingThread(create(), { durability: "exit" }, "before the checkpoint", delta);
    await thread.die(APPROVED);
    expect(await thread.lines(input)).toEqual(["human: go", "ai> risky", ...lines]);
    expect(thread.runs).toEqual(runs);
  });

  it("a run that has another decision is refused, because the first one counts", async () => {
    const thread = await waitingThread(create(), { durability: "exit" }, "before the checkpoint");
    await thread.die(APPROVED);
    const other = asInput({ resume: { decisions: [edit({ label: "y" })] } });
    await expect(thread.lines(other)).rejects.toThrow("has none that waits");
    expect(await thread.lines(null)).toEqual(["human: go", "ai> risky", "tool: did x", "ai: fine"]);
  });
});
