/** The process dies after a human has decided. The thread must not say that nobody has. */

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { approve, asInput, askedLabels } from "../../support/approval-graph.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { mortalSaver, SAVERS } from "../../support/mortal-saver.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const config = inThread("1");
const UNKNOWN =
  "tool! Tool call risky (a): a new message came before it finished. It may or may not have taken effect.";

const cases = SAVERS.flatMap((saver) => DURABILITIES.map((durability) => ({ ...saver, durability })));

describe.each(cases)("with a $name and the durability $durability", ({ create, durability }) => {
  const options = { ...config, durability };

  /** A thread that waits for a decision. Its tool can die with its process. */
  async function waitingThread() {
    const saver = create();
    const runs: string[] = [];
    const open = (checkpointer: typeof saver, onRun: () => void) =>
      createAgentGraph({
        model: new FunctionModel(({ messages }) =>
          messages.length === 1 ? calls(["risky", { label: "x" }, "a"]) : "fine",
        ),
        tools: [
          makeTool(
            "risky",
            async ({ label }: { label: string }) => {
              runs.push(label);
              onRun();
              return `did ${label}`;
            },
            z.object({ label: z.string() }),
          ),
        ],
        requireApproval: ["risky"],
        checkpointer,
      });
    const graph = open(saver, () => {});
    expect(askedLabels(await graph.invoke(user("go"), options))).toEqual(["x"]);
    const { mortal, die } = mortalSaver(saver);
    const doomed = open(mortal, die);
    const resume = (given: unknown) => asInput({ resume: given });
    return { graph, doomed, runs, resume };
  }

  async function byId(graph: ReturnType<typeof createAgentGraph>, value: object): Promise<object> {
    const { tasks } = await graph.getState(config);
    return { [String(tasks[0]?.interrupts[0]?.id)]: value };
  }

  it("an approved call whose process died may or may not have taken effect", async () => {
    const { graph, doomed, runs, resume } = await waitingThread();
    await expect(doomed.invoke(resume({ decisions: [approve] }), options)).rejects.toThrow("died");
    expect(runs).toEqual(["x"]);
    const lines = pairedScript(await graph.invoke(user("next"), options));
    expect(lines).toEqual(["human: go", "ai> risky", UNKNOWN, "human: next", "ai: fine"]);
  });

  it("the same is true if the decision named its question", async () => {
    const { graph, doomed, resume } = await waitingThread();
    const decision = await byId(graph, { decisions: [approve] });
    await expect(doomed.invoke(resume(decision), options)).rejects.toThrow("died");
    expect(pairedScript(await graph.invoke(user("next"), options))[2]).toBe(UNKNOWN);
  });

  it("a run that continues the dead one uses the decision, once if the call was saved before it ran", async () => {
    const { graph, doomed, runs, resume } = await waitingThread();
    await expect(doomed.invoke(resume({ decisions: [approve] }), options)).rejects.toThrow("died");
    const lines = pairedScript(await graph.invoke(null, options));
    const isSaved = durability !== "exit";
    const result = isSaved
      ? "tool! Tool call risky (a): the run ended before it finished. It may or may not have taken effect."
      : "tool: did x";
    expect(lines).toEqual(["human: go", "ai> risky", result, "ai: fine"]);
    expect(runs).toEqual(isSaved ? ["x"] : ["x", "x"]);
  });
});

describe.each(SAVERS)("with a $name, a delta channel and the durability exit", ({ create }) => {
  const options = { ...config, durability: "exit" as const };

  /** The process of an approved call dies before it saves its checkpoint. It has saved what it wrote. */
  async function killedThread() {
    const saver = create();
    const runs: string[] = [];
    const risky = makeTool(
      "risky",
      async ({ label }: { label: string }) => {
        runs.push(label);
        return `did ${label}`;
      },
      z.object({ label: z.string() }),
    );
    const open = (checkpointer: typeof saver) =>
      createAgentGraph({
        model: new FunctionModel(({ text }) =>
          text === "go" ? calls(["risky", { label: "x" }, "a"]) : "fine",
        ),
        tools: [risky],
        requireApproval: ["risky"],
        checkpointer,
        messagesChannel: "delta",
      });
    await open(saver).invoke(user("go"), options);
    const { mortal, die } = mortalSaver(saver, ["put"]);
    die();
    const killed = open(mortal).invoke(asInput({ resume: { decisions: [approve] } }), options);
    await expect(killed).rejects.toThrow("died");
    expect(runs).toEqual(["x"]);
    return { graph: open(saver), runs };
  }

  it.each([
    { title: "continues the dead one", input: null },
    { title: "repeats its decision", input: asInput({ resume: { decisions: [approve] } }) },
  ])("a run that $title has the result, and does not run the tool again", async ({ input }) => {
    const { graph, runs } = await killedThread();
    const lines = ["human: go", "ai> risky", "tool: did x", "ai: fine"];
    expect(pairedScript(await graph.invoke(input, options))).toEqual(lines);
    expect(pairedScript((await graph.getState(config)).values)).toEqual(lines);
    expect(runs).toEqual(["x"]);
  });

  it("a run with new input has the result", async () => {
    const { graph, runs } = await killedThread();
    const lines = pairedScript(await graph.invoke(user("never mind"), options));
    expect(lines.slice(0, 3)).toEqual(["human: go", "ai> risky", "tool: did x"]);
    expect(runs).toEqual(["x"]);
  });

  it("another decision gets another result", async () => {
    const { graph, runs } = await killedThread();
    const edited = { type: "edit", edited_action: { name: "risky", args: { label: "y" } } };
    const lines = pairedScript(await graph.invoke(asInput({ resume: { decisions: [edited] } }), options));
    expect(lines[2]).toBe("tool: did y");
    expect(runs).toEqual(["x", "y"]);
  });
});
