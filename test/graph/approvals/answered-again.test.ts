/** A question that is answered again from its checkpoint: the new answer holds in the branch that it begins. */

import { Command, type Interrupt, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware, tetherState } from "../../../src/langchain.js";
import { DURABILITIES, type Durability } from "../../support/crashing-thread.js";
import { calls, FunctionModel } from "../../support/models.js";
import { inThread, script, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

const KINDS = ["createAgentGraph", "tetherMiddleware"] as const;
const CHANNELS = ["full", "delta"] as const;

interface Options {
  readonly kind: (typeof KINDS)[number];
  readonly channel: (typeof CHANNELS)[number];
  readonly durability: Durability;
  readonly called?: readonly string[];
}

function open({ kind, channel, durability, called = ["pay"] }: Options) {
  const runs: string[] = [];
  const logged = (name: string, result: () => unknown) =>
    makeTool(name, async (_, config) => {
      runs.push(name);
      return result.call(config);
    });
  const tools = [
    logged("pay", () => "paid"),
    logged("look", () => "seen"),
    makeTool("ask", async () => `told ${interrupt("which?")}`),
    makeTool("inquire", async () => `told ${interrupt("who?")}`),
  ];
  const model = new FunctionModel(({ messages }) =>
    messages.at(-1)?.type === "tool" ? "Done." : calls(...called.map((name) => [name, {}, name] as const)),
  );
  const checkpointer = new MemorySaver();
  const graph =
    kind === "createAgentGraph"
      ? createAgentGraph({ model, tools, requireApproval: ["pay"], messagesChannel: channel, checkpointer })
      : createAgent({
          model,
          tools,
          stateSchema: tetherState({ delta: channel === "delta" }),
          middleware: [humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never), tetherMiddleware()],
          checkpointer,
        } as never).graph;
  const config = { ...inThread("1"), durability };
  const run = (input: unknown, at: object = config) =>
    graph.invoke(input as never, { durability, ...at } as never);
  const read = async () => graph.getState(config);
  return { runs, model, run, read };
}

type Snapshot = Awaited<ReturnType<ReturnType<typeof open>["read"]>>;
const questionsIn = ({ tasks }: Snapshot): Interrupt[] => tasks.flatMap(({ interrupts }) => interrupts);
const decided = (type: string) => ({ decisions: [{ type }] });

const WAYS = {
  "by its id": ({ id = "" }: Interrupt, answer: unknown) => new Command({ resume: { [id]: answer } }),
  "without an id": (_: Interrupt, answer: unknown) => new Command({ resume: answer }),
} as const;

const cases = KINDS.flatMap((kind) =>
  CHANNELS.flatMap((channel) => DURABILITIES.map((durability) => ({ kind, channel, durability }))),
);

describe.each(cases)("With $kind, a $channel channel and the durability $durability", (options) => {
  describe.each(Object.entries(WAYS))("a question that is answered %s", (_way, answer) => {
    /** `createAgentGraph` takes another decision only by the question's id. */
    const again = options.kind === "createAgentGraph" ? WAYS["by its id"] : answer;
    it("and then again from its checkpoint is not paid after a rejection", async () => {
      const { runs, run, read } = open(options);
      await run(user("Go."));
      const asked = await read();
      const [question] = questionsIn(asked) as [Interrupt];
      await run(answer(question, decided("approve")));
      expect(runs).toEqual(["pay"]);
      await run(again(question, decided("reject")), asked.config);
      expect(runs).toEqual(["pay"]);
      const { values, next } = await read();
      expect(script(values.messages)[2]).toMatch(/^tool! .*(?:not approved|rejected)/i);
      expect(script(values.messages).at(-1)).toBe("ai: Done.");
      expect(next).toEqual([]);
    });

    it("and then again from its checkpoint is paid after an approval", async () => {
      const { runs, run, read } = open(options);
      await run(user("Go."));
      const asked = await read();
      const [question] = questionsIn(asked) as [Interrupt];
      await run(answer(question, decided("reject")));
      expect(runs).toEqual([]);
      await run(again(question, decided("approve")), asked.config);
      expect(runs).toEqual(["pay"]);
      expect(script((await read()).values.messages)).toContain("tool: paid");
    });

    it("of a tool keeps the results of the calls beside it", async () => {
      const { runs, run, read } = open({ ...options, called: ["look", "ask"] });
      await run(user("Go."));
      const asked = await read();
      const [question] = questionsIn(asked) as [Interrupt];
      await run(answer(question, "this"));
      await run(again(question, "that"), asked.config);
      const { messages } = (await read()).values;
      expect(script(messages).slice(2)).toEqual(["tool: seen", "tool: told that", "ai: Done."]);
      expect(runs).toEqual(["look"]);
    });
  });

  it("is answered together with those beside it", async () => {
    if (options.kind !== "createAgentGraph") return;
    const { runs, run, read } = open({ ...options, called: ["pay", "ask", "inquire", "look"] });
    await run(user("Go."));
    const asked = await read();
    const ids = new Map(
      questionsIn(asked).map(({ id = "", value }) => [typeof value === "string" ? value : "pay", id]),
    );
    const answers = (given: Readonly<Record<string, unknown>>) =>
      new Command({
        resume: Object.fromEntries(
          Object.entries(given).map(([name, value]) => [ids.get(name) ?? "", value]),
        ),
      });
    await run(answers({ pay: decided("approve") }));
    await run(answers({ "which?": "this", "who?": "me" }));
    expect(runs.toSorted()).toEqual(["look", "pay"]);
    await expect(run(answers({ "which?": "that" }), asked.config)).rejects.toThrow(
      "answer all questions of the checkpoint at once",
    );
    expect(runs.toSorted()).toEqual(["look", "pay"]);
    await run(answers({ pay: decided("reject"), "which?": "that", "who?": "you" }), asked.config);
    expect(runs.toSorted()).toEqual(["look", "pay"]);
    const results = script((await read()).values.messages).filter((line) => line.startsWith("tool"));
    expect(results).toEqual([
      expect.stringMatching(/^tool! /),
      "tool: told that",
      "tool: told you",
      "tool: seen",
    ]);
  });
});
