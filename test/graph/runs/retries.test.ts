/** A job that is sent again, with the id of its message: what its first worker has done is not done again. */

import { setTimeout as delay } from "node:timers/promises";
import { ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import {
  Command,
  InMemoryStore,
  interrupt,
  MemorySaver,
  ReducedValue,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { abortRun } from "../../support/abort-run.js";
import { allOf } from "../../support/all-of.js";
import { DURABILITIES, type Durability } from "../../support/crashing-thread.js";
import { FunctionModel, shortSummariser } from "../../support/function-model.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

const config = inThread("1");
const job = user("go", "job-1");
const CHANNELS = ["full", "delta"] as const;
const UNKNOWN = "the run ended before it finished. It may or may not have taken effect.";

/** A thread with a job whose first worker dies when `fast` has ended, and before `pay` and `look` do. */
function createThread(options: Partial<AgentGraphOptions> = {}) {
  const runs: string[] = [];
  const make = (name: string, isSlow: boolean, metadata?: Record<string, unknown>) =>
    tool(
      async (_: object, { signal }) => {
        const isFirst = !runs.includes(name);
        runs.push(name);
        if (isSlow && isFirst) await delay(60_000, undefined, { signal });
        return `${name} done`;
      },
      { name, description: name, schema: z.object({}), ...(metadata !== undefined && { metadata }) },
    );
  let requests = 0;
  const model = new FunctionModel(({ messages }) => {
    requests += 1;
    return messages.some(({ type }) => type === "tool")
      ? "done"
      : calls(["fast", {}, "a"], ["pay", {}, "b"], ["look", {}, "c"]);
  });
  const graph = createAgentGraph({
    model,
    tools: [make("fast", false), make("pay", true), make("look", true, { replay: "safe" })],
    checkpointer: new MemorySaver(),
    ...options,
  });
  const dies = async (durability: Durability = "async", input: object = job) => {
    await abortRun(
      (signal) => graph.invoke(input as typeof job, { ...config, durability, signal }),
      async () => {
        await expect.poll(() => runs.length).toBe(3);
        await turns();
      },
    );
  };
  const read = async () => messagesOf((await graph.getState(config)).values);
  const head = async () => (await graph.getState(config)).config.configurable?.["checkpoint_id"];
  return { graph, runs, dies, read, head, requests: () => requests };
}

const FINISHED = [
  "human: go",
  "ai> fast pay look",
  "tool: fast done",
  `tool! Tool call pay (b): ${UNKNOWN}`,
  "tool: look done",
  "ai: done",
];

describe.each(CHANNELS)("With the channel %s, a job that is sent again", (messagesChannel) => {
  it.each(DURABILITIES)("finishes the turn of the worker that died (%s)", async (durability) => {
    const { graph, runs, dies, requests } = createThread({ messagesChannel });
    await dies(durability);
    expect(pairedScript(await graph.invoke(job, config))).toEqual(FINISHED);
    expect(runs.toSorted()).toEqual(["fast", "look", "look", "pay"]);
    expect(requests()).toBe(2);
  });

  it("changes nothing once it is finished", async () => {
    const { graph, runs, dies, requests } = createThread({ messagesChannel });
    await dies();
    const first = await graph.invoke(job, config);
    const again = await graph.invoke(job, config);
    expect(again.messages.map(({ id }) => id)).toEqual(first.messages.map(({ id }) => id));
    expect(requests()).toBe(2);
    expect(runs).toHaveLength(4);
  });
});

describe("A job that is sent again", () => {
  it("writes no checkpoint, and applies no own key twice", async () => {
    const stateSchema = z.object({ city: z.string().optional() });
    const { graph, head, requests } = createThread({ stateSchema, model: new FunctionModel(() => "fine") });
    const input = { ...job, city: "Paris" };
    await graph.invoke(input, config);
    const before = await head();
    expect(await graph.invoke(input, config)).toMatchObject({ city: "Paris" });
    expect(await head()).toBe(before);
    await graph.invoke({ ...job, city: "Rome" }, config);
    expect((await graph.getState(config)).values).toMatchObject({ city: "Rome" });
    expect(requests()).toBe(0);
  });

  it.each(CHANNELS)("keeps what tools wrote to own keys since (%s)", async (messagesChannel) => {
    const move = tool(
      async (_: object, { toolCallId }: ToolRuntime) => {
        const message = new ToolMessage({ content: "moved", tool_call_id: toolCallId });
        return new Command({ update: { city: "Rome", notes: ["moved"], messages: [message] } });
      },
      { name: "move", description: "move", schema: z.object({}) },
    );
    const model = new FunctionModel(({ messages }) => (messages.length > 1 ? "done" : calls(["move"])));
    const notes = new ReducedValue(z.array(z.string()).default([]), {
      inputSchema: z.array(z.string()),
      reducer: (old, added) => [...old, ...added],
    });
    const stateSchema = new StateSchema({ city: z.string().optional(), notes });
    const { graph } = createThread({ messagesChannel, model, tools: [move], stateSchema });
    for (const durability of ["async", "sync", "async"] as const)
      expect(
        await graph.invoke({ ...job, city: "Paris", notes: ["sent"] }, { ...config, durability }),
      ).toMatchObject({ city: "Rome", notes: ["sent", "moved"] });
    expect(model.requests).toHaveLength(2);
  });

  it("finishes the turn of a later message if a summary has archived its own one", async () => {
    const { graph, runs, dies } = createThread({
      store: new InMemoryStore(),
      coveredMessages: "archive",
      maxMessagesBeforeSummary: 4,
      messagesToKeep: 2,
      summaryModel: shortSummariser(),
      model: new FunctionModel(({ text, messages }) =>
        text === "work" ? calls(["fast"], ["pay", {}, "b"], ["look"]) : `answer ${messages.length}`,
      ),
    });
    for (const id of ["job-1", "job-2", "job-3"]) await graph.invoke(user("go", id), config);
    await dies("async", user("work", "job-4"));
    const { messages } = await graph.invoke(job, config);
    expect(messages.some(({ id }) => id === "job-1")).toBe(false);
    expect(script(messages).slice(-3)).toEqual([
      FINISHED[3],
      FINISHED[4],
      expect.stringMatching(/^ai: answer/),
    ]);
    expect(runs.toSorted()).toEqual(["fast", "look", "look", "pay"]);
  });

  it("waits for the human that its first worker has asked", async () => {
    const model = new FunctionModel(() => calls(["fast", {}, "a"]));
    const { graph, runs } = createThread({ model, requireApproval: ["fast"] });
    const asked = [];
    for (const input of [job, job]) {
      await graph.invoke(input, config);
      const { tasks } = await graph.getState(config);
      asked.push(tasks.flatMap(({ interrupts }) => interrupts));
    }
    expect(asked[0]).toHaveLength(1);
    expect(asked[1]).toEqual(asked[0]);
    expect(runs).toEqual([]);
  });

  it("is an edit if its text is another one", async () => {
    const { graph, dies, runs } = createThread();
    await dies();
    const lines = pairedScript(await graph.invoke(user("go now", "job-1"), config));
    expect(lines[0]).toBe("human: go now");
    expect(runs.filter((name) => name === "pay")).toHaveLength(1);
  });

  it("is answered if only an update of the state had stored it", async () => {
    const { graph } = createThread({ model: new FunctionModel(() => "fine") });
    await graph.invoke(new Command({ update: job }), config);
    expect(script((await graph.invoke(job, config)).messages)).toEqual(["human: go", "ai: fine"]);
  });
});

describe("A run with the input null", () => {
  it.each([
    ["an empty thread", config],
    ["no thread", {}],
  ])("says that it has nothing to continue in %s", async (_, options) => {
    const { graph } = createThread();
    const refused = expect.objectContaining({
      code: "INVALID_MESSAGE",
      message:
        "Expected `input` to be an object with `messages`, got `null`. The thread has nothing that could be continued.",
    });
    for (const run of [graph.invoke(null, options), graph.stream(null, options)])
      await expect(run).rejects.toEqual(refused);
  });

  it("says in its events and in a mark that nobody knows what a call did", async () => {
    const { graph, dies, read } = createThread();
    await dies();
    const events = await allOf(graph.stream(null, { ...config, streamMode: "custom" }));
    expect(events.slice(0, 1)).toEqual([
      { type: "call-closed", tool: "pay", callId: "b", cause: "interrupted" },
    ]);
    expect((await read())[3]?.additional_kwargs).toEqual({
      tether_placeholder: "interrupted",
      tether_outcome: "unknown",
    });
  });

  it("runs a call again whose tool has annotations of an MCP server that allow it, unless `replay` says no", async () => {
    const annotated = { annotations: { readOnlyHint: true } };
    for (const [metadata, times] of [
      [annotated, 2],
      [{ ...annotated, replay: "unsafe" }, 1],
    ] as const) {
      const runs: string[] = [];
      const look = tool(
        async (_: object, { signal }) => {
          runs.push("look");
          if (runs.length === 1) await delay(60_000, undefined, { signal });
          return "seen";
        },
        { name: "look", description: "look", schema: z.object({}), metadata },
      );
      const model = new FunctionModel(({ messages }) => (messages.length > 1 ? "done" : calls(["look"])));
      const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
      await abortRun(
        (signal) => graph.invoke(job, { ...config, signal }),
        () => expect.poll(() => runs.length).toBe(1),
      );
      await graph.invoke(null, config);
      expect(runs).toHaveLength(times);
    }
  });
});

it.each([{ durability: "exit" }, { checkpointDuring: false }] as const)(
  "A tool waits for no checkpoint if the graph is bound to %o",
  async (bound) => {
    const { graph, runs } = createThread({
      model: new FunctionModel(({ messages }) => (messages.length > 1 ? "done" : calls(["fast"]))),
    });
    await graph.withConfig(bound as object).invoke(job, config);
    expect(runs).toEqual(["fast"]);
  },
);

describe.each(DURABILITIES)("A tool that asks a human twice (%s)", (durability) => {
  const open = () => {
    const paid: string[] = [];
    const ask = tool(
      async (_: object, { signal }) => {
        const answers = [interrupt("first?"), interrupt("second?")];
        paid.push(answers.join(" "));
        if (answers[1] === "slowly") await delay(60_000, undefined, { signal });
        return answers.join(" ");
      },
      { name: "ask", description: "ask", schema: z.object({}) },
    );
    const model = new FunctionModel(({ messages }) =>
      messages.length > 1 ? "done" : calls(["ask", {}, "a"]),
    );
    const graph = createAgentGraph({ model, tools: [ask], checkpointer: new MemorySaver() });
    const send = (input: unknown, more: object = {}) =>
      graph.invoke(input as null, { ...config, durability, ...more });
    return { paid, send };
  };

  it("is run again with each answer", async () => {
    const { paid, send } = open();
    for (const input of [job, new Command({ resume: "one" })]) await send(input);
    expect(script((await send(new Command({ resume: "two" }))).messages)[2]).toBe("tool: one two");
    expect(paid).toEqual(["one two"]);
  });

  it("is not run again after the last answer if its run died then", async () => {
    const { paid, send } = open();
    for (const input of [job, new Command({ resume: "one" })]) await send(input);
    await abortRun(
      (signal) => send(new Command({ resume: "slowly" }), { signal }),
      () => expect.poll(() => paid.length).toBe(1),
    );
    expect(script((await send(null)).messages)[2]).toBe(`tool! Tool call ask (a): ${UNKNOWN}`);
    expect(paid).toEqual(["one slowly"]);
  });
});
