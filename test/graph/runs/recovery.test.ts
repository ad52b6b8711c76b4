/** What the next message finds of a run that ended before it could store what it had shown. */

import {
  type AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import {
  type BaseCheckpointSaver,
  Command,
  MemorySaver,
  Overwrite,
  REMOVE_ALL_MESSAGES,
  ReducedValue,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  type AgentEvent,
  type AgentGraphOptions,
  agentMiddleware,
  createAgentGraph,
} from "../../../src/index.js";
import { abortRun } from "../../support/abort-run.js";
import { allOf } from "../../support/all-of.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = inThread("1");

/** A thread whose first run, after `before`, dies when the model has responded. */
async function deadThread({
  saver = new MemorySaver() as BaseCheckpointSaver,
  durability = "sync" as "sync" | "async",
  response = "THE ANSWER" as string | AIMessage,
  before = [] as readonly string[],
  options = {} as Partial<AgentGraphOptions>,
} = {}) {
  const { mortal, die } = mortalSaver(saver, ["put"]);
  const answers: (string | AIMessage)[] = [];
  const model = new FunctionModel(() => answers.shift() ?? "later answer");
  const graph = createAgentGraph({ model, checkpointer: saver, ...options });
  for (const text of before) await graph.invoke(user(text), config);
  const read = async (): Promise<BaseMessage[]> => messagesOf((await graph.getState(config)).values);
  const doomedModel = new FunctionModel(async () => {
    // With the durability async, the checkpoint before the model can still be on its way.
    await vi.waitFor(async () => expect(script(await read())).toContain("human: q1"));
    die();
    return response;
  });
  const doomed = createAgentGraph({ ...options, model: doomedModel, checkpointer: mortal });
  await expect(doomed.invoke(user("q1"), { ...config, durability })).rejects.toThrow("died");
  const send = async (input: unknown, more: object = {}): Promise<string[]> =>
    pairedScript(await graph.invoke(input as null, { ...config, ...more }));
  return { graph, model, read, send };
}

describe("a response that was shown and not stored", () => {
  it("is marked with its place, and reported", async () => {
    const { graph, read } = await deadThread();
    const [, response] = await read();
    const events = await allOf<AgentEvent>(graph.stream(user("q2"), { ...config, streamMode: "custom" }));
    expect(events).toEqual([
      { type: "response-recovered", messageId: response?.id },
      expect.objectContaining({ type: "run-end" }),
    ]);
    expect((await read())[1]?.additional_kwargs["tether_recovered"]).toEqual({});
  });

  it("is not streamed again to clients, which would join it with what they have", async () => {
    const { graph } = await deadThread();
    const shown = graph.stream(user("q2"), { ...config, streamMode: "messages" });
    const streamed = await allOf<[BaseMessage]>(shown);
    expect(streamed.map(([message]) => message.text).join("")).toBe("later answer");
  });

  it("has its calls closed, and they are not run", async () => {
    const { fast, runs } = createProbe();
    const { send } = await deadThread({ response: calls(["fast", {}, "a"]), options: { tools: [fast] } });
    expect(await send(user("q2"))).toEqual([
      "human: q1",
      "ai> fast",
      "tool! Tool call fast (a): its run ended before it was started, so it was not run.",
      "human: q2",
      "ai: later answer",
    ]);
    expect(runs).toEqual([]);
  });

  it.each(DURABILITIES)(
    "is found after runs that ended before they could recover it (%s)",
    async (durability) => {
      const { graph, send } = await deadThread();
      for (const text of ["q2", "q3"])
        await graph.invoke(user(text), { ...config, durability, interruptBefore: ["patch"] });
      expect(await send(user("q4"))).toEqual([
        "human: q1",
        "ai: THE ANSWER",
        "human: q2",
        "human: q3",
        "human: q4",
        "ai: later answer",
      ]);
    },
  );

  type Dead = Awaited<ReturnType<typeof deadThread>>;
  const removalOf = (message?: BaseMessage) => new RemoveMessage({ id: message?.id ?? "" });

  it.each<[what: string, next: (thread: Dead) => Promise<string[]>, lines: string[]]>([
    [
      "stays with an update of the state",
      async ({ graph, send }) => {
        await graph.updateState(config, user("by update"));
        return send(user("q2"));
      },
      ["human: q1", "ai: THE ANSWER", "human: by update", "human: q2"],
    ],
    [
      "stays once if the client sends it with its next message",
      async ({ read, send }) => send({ messages: [...(await read()), new HumanMessage("q2")] }),
      ["human: q1", "ai: THE ANSWER", "human: q2"],
    ],
    [
      "does not come back if the next input removes it",
      async ({ read, send }) => send({ messages: [removalOf((await read())[1]), new HumanMessage("q2")] }),
      ["human: q1", "human: q2"],
    ],
    [
      "does not come back if the next input removes all messages, and sends the question again",
      async ({ read, send }) => {
        const all = new RemoveMessage({ id: REMOVE_ALL_MESSAGES });
        return send({ messages: [all, ...(await read()).slice(0, 1), new HumanMessage("q2")] });
      },
      ["human: q1", "human: q2"],
    ],
    [
      "does not come back if an update of the state removes it",
      async ({ graph, read, send }) => {
        await graph.updateState(config, { messages: [removalOf((await read())[1])] });
        return send(user("q2"));
      },
      ["human: q1", "human: q2"],
    ],
  ])("%s", async (_what, next, lines) => {
    const thread = await deadThread();
    const after = [...lines, "ai: later answer"];
    expect(await next(thread)).toEqual(after);
    expect(await thread.send(user("q3"))).toEqual([...after, "human: q3", "ai: later answer"]);
  });

  it("is found if the client names the latest checkpoint, as LangGraph's SDK does", async () => {
    const { graph, send } = await deadThread();
    const { config: head } = await graph.getState(config);
    expect(await send(user("q2"), head)).toContain("ai: THE ANSWER");
  });

  it("is not taken into another branch of the thread", async () => {
    const { graph, send } = await deadThread();
    const { config: asked } = await graph.getState(config);
    await send(null);
    const fork = await graph.invoke(user("q2"), asked);
    expect(pairedScript(fork)).toEqual(["human: q1", "human: q2", "ai: later answer"]);
    expect(await send(user("q3"))).toEqual([...pairedScript(fork), "human: q3", "ai: later answer"]);
  });

  it("is not taken into a branch whose first run died", async () => {
    const { graph, send } = await deadThread();
    const { config: asked } = await graph.getState(config);
    await send(null);
    await graph.invoke(user("q2"), { ...asked, interruptBefore: ["model", "patch"] });
    expect(await send(user("q3"))).toEqual(["human: q1", "human: q2", "human: q3", "ai: later answer"]);
  });
});

const noteSchema = z.object({ label: z.string().default("-") });

function writing(name: string, others: (label: string) => BaseMessage[]) {
  return makeTool(
    name,
    async ({ label }: z.infer<typeof noteSchema>, { toolCallId }: ToolRuntime) =>
      new Command({
        update: {
          messages: [
            new ToolMessage({ content: `${name} ${label}`, tool_call_id: toolCallId }),
            ...others(label),
          ],
        },
      }),
    noteSchema,
  );
}

describe("the other messages of a tool's Command, if a sibling was slow and the run was cancelled,", () => {
  async function cancelled(tools: ReturnType<typeof writing>[], ...wanted: [string, object?, string?][]) {
    const probe = createProbe();
    const steps = ["hello there", calls(...wanted, ["heedful", {}, "slow"])];
    const model = new FunctionModel(() => steps.shift() ?? "fine");
    const graph = createAgentGraph({
      model,
      tools: [...tools, probe.heedful],
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("hello", "hello"), config);
    const unfinished = async () => (await graph.getState(config)).next;
    await abortRun(
      (signal) => graph.invoke(user("go"), { ...config, signal }),
      async () => {
        await probe.hasBegun(1);
        await expect.poll(unfinished).toEqual(["tools"]);
      },
    );
    const shown = messagesOf((await graph.getState(config)).values);
    const lines = pairedScript(await graph.invoke(user("next"), config));
    return { shown: script(shown), lines, refused: model.refused };
  }

  it("are in the thread, after the group of their calls and in their order", async () => {
    const note = writing("note", (label) => [
      new HumanMessage(`NOTE ${label}`),
      new HumanMessage(`${label} again`),
    ]);
    const { lines, refused } = await cancelled([note], ["note", { label: "1" }], ["note", { label: "2" }]);
    expect(lines.slice(3)).toEqual([
      "ai> note note heedful",
      "tool: note 1",
      "tool: note 2",
      expect.stringMatching(/^tool! Tool call heedful/),
      "human: NOTE 1",
      "human: 1 again",
      "human: NOTE 2",
      "human: 2 again",
      "human: next",
      "ai: fine",
    ]);
    expect(refused).toEqual([]);
  });

  it("are removals too", async () => {
    const forget = writing("forget", () => [new RemoveMessage({ id: "hello" })]);
    const { shown, lines } = await cancelled([forget], ["forget"]);
    expect(shown[0]).toBe("ai: hello there");
    expect(lines.slice(0, 2)).toEqual(["ai: hello there", "human: go"]);
  });

  it("remove all messages but those that came later", async () => {
    const clear = writing("clear", () => [
      new RemoveMessage({ id: REMOVE_ALL_MESSAGES }),
      new HumanMessage("a clean start"),
    ]);
    const { shown, lines } = await cancelled([clear], ["clear"]);
    expect(shown).toEqual(["human: a clean start"]);
    expect(lines).toEqual(["human: a clean start", "human: next", "ai: fine"]);
  });

  it("replace a message, unless it was changed since", async () => {
    const edit = writing("edit", () => [new HumanMessage({ content: "edited", id: "hello" })]);
    const { lines } = await cancelled([edit], ["edit"]);
    expect(lines[0]).toBe("human: edited");
  });
});

// What tools wrote to own keys of the state, when their run ended before it was applied.

const lines = z.array(z.string());

const stateSchema = new StateSchema({
  plan: z.string().optional(),
  log: new ReducedValue(
    lines.default(() => []),
    { inputSchema: lines, reducer: (a, b) => [...a, ...b] },
  ),
});

const note = makeTool(
  "note",
  ({ plan }, _runtime: ToolRuntime) => new Command({ update: { plan, log: [plan] } }),
  z.object({ plan: z.string() }),
);

/** A thread whose first run was cancelled after two notes, and beside a call that had not finished. */
async function cancelled(...then: readonly Step[]) {
  const probe = createProbe();
  const saver = new MemorySaver();
  const agent = createAgentGraph({
    model: scripted(calls(["note", { plan: "a" }], ["note", { plan: "b" }], ["heedful"]), ...then),
    tools: [note, probe.heedful],
    stateSchema,
    checkpointer: saver,
  });
  const saved = async () => {
    const writes = (await saver.getTuple(inThread("1")))?.pendingWrites ?? [];
    return writes.filter(([, channel]) => channel === "plan").length;
  };
  await abortRun(
    (signal) => agent.invoke(user("hi"), { ...inThread("1"), signal }),
    () => expect.poll(saved, { timeout: 20_000 }).toBe(2),
  );
  return agent;
}

describe("a run after a cancelled one", () => {
  it("has what the finished tools wrote, in the order of their calls", async () => {
    const agent = await cancelled("done");
    const result = await agent.invoke(user("more"), inThread("1"));
    expect(result).toMatchObject({ plan: "b", log: ["a", "b"] });
    expect(pairedScript(result).slice(2, 5)).toEqual([
      "tool: (no output)",
      "tool: (no output)",
      expect.stringMatching(/^tool! Tool call heedful/),
    ]);
  });

  it("keeps a value of its own input, and adds to a reduced one", async () => {
    const agent = await cancelled("done");
    const result = await agent.invoke({ ...user("more"), plan: "mine", log: ["mine"] }, inThread("1"));
    expect(result).toMatchObject({ plan: "mine", log: ["mine", "a", "b"] });
  });

  it("recovers it once", async () => {
    const agent = await cancelled("done", "again");
    await agent.invoke(user("more"), inThread("1"));
    await agent.updateState(inThread("1"), { plan: "mine", log: new Overwrite([]) });
    expect(await agent.invoke(user("and more"), inThread("1"))).toMatchObject({ plan: "mine", log: [] });
  });

  it("tells agent middleware the whole history", async () => {
    const agent = await cancelled("done");
    let last: string | undefined;
    const middleware = [
      agentMiddleware(async (context, next) => {
        await next();
        last = context.result?.text;
      }),
    ];
    await agent.invoke(user("more"), { ...inThread("1"), middleware });
    expect(last).toBe("done");
  });
});
