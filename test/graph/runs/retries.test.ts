/** A job that is sent again, with the id of its message: what its first worker has done is not done again. */

import { setTimeout as delay } from "node:timers/promises";
import { ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { ToolRuntime } from "@langchain/core/tools";
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
import type { AgentGraphOptions } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf, turns } from "../../support/async.js";
import { DURABILITIES, type Durability } from "../../support/crashing-thread.js";
import { lines } from "../../support/lines.js";
import { type Answer, calls, FunctionModel, shortSummariser, type WantedCall } from "../../support/models.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

const config = inThread("1");
const job = user("go", "job-1");
const CHANNELS = ["full", "delta"] as const;
const UNKNOWN = "the run ended before it finished. It may or may not have taken effect.";

/** Makes these calls, and then says that it is done. */
const calling =
  (...wanted: WantedCall[]): Answer =>
  ({ messages }) =>
    messages.length > 1 ? "done" : calls(...wanted);
const ALL: WantedCall[] = [
  ["fast", {}, "a"],
  ["pay", {}, "b"],
  ["look", {}, "c"],
];

/** A thread with a job whose first worker dies when `fast` has ended, and before `pay` and `look` do. */
function createThread(
  answer: Answer = calling(...ALL),
  {
    replay = { replay: "safe" } as object,
    ...options
  }: Partial<AgentGraphOptions> & { replay?: object } = {},
) {
  const runs: string[] = [];
  const make = (name: string, isSlow: boolean, metadata: object = {}) => {
    const made = makeTool(name, async (_, { signal }) => {
      const isFirst = !runs.includes(name);
      runs.push(name);
      if (isSlow && isFirst) await delay(60_000, undefined, { signal: signal ?? AbortSignal.abort() });
      return `${name} done`;
    });
    return Object.assign(made, { metadata });
  };
  const model = new FunctionModel(answer);
  const tools = [make("fast", false), make("pay", true), make("look", true, replay)];
  const { graph, state } = agentThread([], { model, tools, ...options });
  const send = (input: unknown = job, more: object = {}) =>
    graph.invoke(input as null, { ...config, ...more });
  const dies = (durability: Durability = "async", input: object = job, count = 3) =>
    abortRun(
      (signal) => send(input, { durability, signal }),
      async () => {
        await expect.poll(() => runs.length, { interval: 5 }).toBe(count);
        await turns();
      },
    );
  const head = async () => (await state()).config.configurable?.["checkpoint_id"];
  return { graph, model, runs, send, dies, head };
}

const CLOSED = `tool! Tool call pay (b): ${UNKNOWN} | tool: look done`;

describe.each(CHANNELS)("With the channel %s, a job that is sent again", (messagesChannel) => {
  it.each(DURABILITIES)(
    "finishes the turn of the worker that died, and changes nothing then (%s)",
    async (durability) => {
      const { runs, send, dies, model } = createThread(undefined, { messagesChannel });
      await dies(durability);
      const first = await send();
      expect(pairedScript(first)).toEqual(
        lines("human: go | ai> fast pay look | tool: fast done", CLOSED, "ai: done"),
      );
      const again = await send();
      expect(again.messages.map(({ id }) => id)).toEqual(first.messages.map(({ id }) => id));
      expect(runs.toSorted()).toEqual(["fast", "look", "look", "pay"]);
      expect(model.requests).toHaveLength(2);
    },
  );
});

describe("A job that is sent again", () => {
  it("writes no checkpoint, and applies no own key twice", async () => {
    const stateSchema = z.object({ city: z.string().optional() });
    const { graph, head, send, model } = createThread(() => "fine", { stateSchema });
    await send({ ...job, city: "Paris" });
    const before = await head();
    expect(await send({ ...job, city: "Paris" })).toMatchObject({ city: "Paris" });
    expect(await head()).toBe(before);
    await send({ ...job, city: "Rome" });
    expect((await graph.getState(config)).values).toMatchObject({ city: "Rome" });
    expect(model.requests).toHaveLength(1);
  });

  it.each(CHANNELS)("keeps what tools wrote to own keys since (%s)", async (messagesChannel) => {
    const move = makeTool("move", async (_, { toolCallId }: ToolRuntime) => {
      const message = new ToolMessage({ content: "moved", tool_call_id: toolCallId });
      return new Command({ update: { city: "Rome", notes: ["moved"], messages: [message] } });
    });
    const notes = new ReducedValue(z.array(z.string()).default([]), {
      inputSchema: z.array(z.string()),
      reducer: (old, added) => [...old, ...added],
    });
    const stateSchema = new StateSchema({ city: z.string().optional(), notes });
    const options = { messagesChannel, tools: [move], stateSchema };
    const { send, model } = createThread(calling(["move"]), options);
    for (const durability of ["async", "sync", "async"])
      expect(await send({ ...job, city: "Paris", notes: ["sent"] }, { durability })).toMatchObject({
        city: "Rome",
        notes: ["sent", "moved"],
      });
    expect(model.requests).toHaveLength(2);
  });

  it("finishes the turn of a later message if a summary has archived its own one", async () => {
    const answer: Answer = ({ text, messages }) =>
      text === "work" ? calls(["fast"], ["pay", {}, "b"], ["look"]) : `answer ${messages.length}`;
    const { runs, send, dies } = createThread(answer, {
      store: new InMemoryStore(),
      coveredMessages: "archive",
      maxMessagesBeforeSummary: 4,
      messagesToKeep: 2,
      summaryModel: shortSummariser(),
    });
    for (const id of ["job-1", "job-2", "job-3"]) await send(user("go", id));
    await dies("async", user("work", "job-4"));
    const { messages } = await send();
    expect(messages.some(({ id }) => id === "job-1")).toBe(false);
    expect(script(messages).slice(-3)).toEqual(lines(CLOSED, "ai: answer…"));
    expect(runs.toSorted()).toEqual(["fast", "look", "look", "pay"]);
  });

  it("waits for the human that its first worker has asked", async () => {
    const { graph, runs, send } = createThread(calling(["fast"]), { requireApproval: ["fast"] });
    const asked = [];
    for (const input of [job, job]) {
      await send(input);
      asked.push((await graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts));
    }
    expect(asked[0]).toHaveLength(1);
    expect(asked[1]).toEqual(asked[0]);
    expect(runs).toEqual([]);
  });

  it("is an edit if its text is another one", async () => {
    const { send, dies, runs } = createThread();
    await dies();
    // What the calls of the other words did is in the branch before.
    expect(pairedScript(await send(user("go now", "job-1")))[0]).toBe("human: go now");
    expect(runs.filter((name) => name === "pay")).toHaveLength(2);
  });

  it("is answered if only an update of the state had stored it", async () => {
    const { send } = createThread(() => "fine");
    await send(new Command({ update: job }));
    expect(script((await send()).messages)).toEqual(lines("human: go | ai: fine"));
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
    const { graph, dies } = createThread();
    await dies();
    const events = await allOf(graph.stream(null, { ...config, streamMode: "custom" }));
    expect(events[0]).toMatchObject({ type: "call-closed", tool: "pay", callId: "b", cause: "interrupted" });
    expect(messagesOf((await graph.getState(config)).values)[3]?.additional_kwargs).toEqual({
      tether_placeholder: "interrupted",
      tether_outcome: "unknown",
      tether_sent: { checkpoint: expect.any(String), place: expect.stringMatching(/:1$/) },
    });
  });

  const annotations = { readOnlyHint: true };
  it.each([
    ["again whose tool has annotations of an MCP server that allow it", { annotations }, 2],
    ["once if `replay` says so, whatever the annotations", { annotations, replay: "unsafe" }, 1],
  ])("runs a call %s", async (_title, replay, times) => {
    const { runs, send, dies } = createThread(calling(["look"]), { replay });
    await dies("async", job, 1);
    await send(null);
    expect(runs).toHaveLength(times);
  });
});

it.each([{ durability: "exit" }, { checkpointDuring: false }] as const)(
  "A tool waits for no checkpoint if the graph is bound to %o",
  async (bound) => {
    const { graph, runs } = createThread(calling(["fast"]));
    await graph.withConfig(bound as object).invoke(job, config);
    expect(runs).toEqual(["fast"]);
  },
);

describe.each(DURABILITIES)("A tool that asks a human twice (%s)", (durability) => {
  const open = () => {
    const paid: string[] = [];
    const ask = makeTool("ask", async (_, { signal }) => {
      const answers = [interrupt("first?"), interrupt("second?")];
      paid.push(answers.join(" "));
      if (answers[1] === "slowly") await delay(60_000, undefined, { signal: signal ?? AbortSignal.abort() });
      return answers.join(" ");
    });
    const thread = createThread(calling(["ask", {}, "a"]), { tools: [ask] });
    const send = (input: unknown, more: object = {}) => thread.send(input, { durability, ...more });
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
      () => expect.poll(() => paid.length, { interval: 5 }).toBe(1),
    );
    expect(script((await send(null)).messages)[2]).toBe(`tool! Tool call ask (a): ${UNKNOWN}`);
    expect(paid).toEqual(["one slowly"]);
  });
});

describe("A checkpointer that does not give back what is saved beside a checkpoint", () => {
  /** What is saved beside its checkpoints is lost. */
  class ForgetfulSaver extends MemorySaver {
    override async getTuple(given: RunnableConfig) {
      const tuple = await super.getTuple(given);
      return tuple && { ...tuple, pendingWrites: [] };
    }
  }
  const opened = () => createThread(calling(["pay", {}, "b"]), { checkpointer: new ForgetfulSaver() });

  it("does not prove that a call was not started", async () => {
    const { graph, send, dies, runs } = opened();
    await dies("async", job, 1);
    await send(user("never mind"));
    expect(runs).toEqual(["pay"]);
    expect(messagesOf((await graph.getState(config)).values)[2]?.additional_kwargs).toMatchObject({
      tether_placeholder: "superseded",
      tether_outcome: "unknown",
    });
  });

  it("lets no call be run again", async () => {
    const { graph, send, dies, runs } = opened();
    await dies("async", job, 1);
    await send(null);
    expect(runs).toEqual(["pay"]);
    expect(messagesOf((await graph.getState(config)).values)[2]?.additional_kwargs).toMatchObject({
      tether_placeholder: "interrupted",
      tether_outcome: "unknown",
    });
  });
});

it("A call of the first step that was surely not started says so, and is run with the input null", async () => {
  const { graph, runs, send } = createThread(calling(["fast", {}, "a"]));
  await send(job, { interruptBefore: ["tools"] });
  const { config: halted } = await graph.getState(config);
  await send(user("never mind"));
  expect(messagesOf((await graph.getState(config)).values)[2]?.additional_kwargs).toMatchObject({
    tether_placeholder: "not-started",
  });
  expect(runs).toEqual([]);
  await graph.invoke(null, { ...halted });
  expect(runs).toEqual(["fast"]);
});
