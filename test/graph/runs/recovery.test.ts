/** What the next message finds of a run that ended before it could store what it had shown. */

import {
  type AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command, MemorySaver, Overwrite, ReducedValue, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
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
import { lines } from "../../support/lines.js";
import { removeAll } from "../../support/make-messages.js";
import { makeTool } from "../../support/make-tool.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = inThread("1");

/** A thread whose first run dies when the model has responded. */
async function deadThread(
  response: string | AIMessage = "THE ANSWER",
  options: Partial<AgentGraphOptions> = {},
) {
  const saver = new MemorySaver();
  const { mortal, die } = mortalSaver(saver, ["put"]);
  const model = new FunctionModel(() => "later answer");
  const graph = createAgentGraph({ model, checkpointer: saver, ...options });
  const read = async (): Promise<BaseMessage[]> => messagesOf((await graph.getState(config)).values);
  const doomedModel = new FunctionModel(() => {
    die();
    return response;
  });
  const doomed = createAgentGraph({ ...options, model: doomedModel, checkpointer: mortal });
  await expect(doomed.invoke(user("q1"), { ...config, durability: "sync" })).rejects.toThrow("died");
  const send = async (input: unknown, more: object = {}): Promise<string[]> =>
    pairedScript(await graph.invoke(input as null, { ...config, ...more }));
  return { graph, read, send };
}

const FOUND = "human: q1 | ai: THE ANSWER";
const LATER = "human: q2 | ai: later answer";

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
    const { send } = await deadThread(calls(["fast", {}, "a"]), { tools: [fast] });
    const closed = "tool! Tool call fast (a): its run ended before it was started, so it was not run.";
    expect(await send(user("q2"))).toEqual(lines("human: q1 | ai> fast", closed, LATER));
    expect(runs).toEqual([]);
  });

  it.each(DURABILITIES)(
    "is found after runs that ended before they could recover it (%s)",
    async (durability) => {
      const { graph, send } = await deadThread();
      for (const text of ["q2", "q3"])
        await graph.invoke(user(text), { ...config, durability, interruptBefore: ["patch"] });
      expect(await send(user("q4"))).toEqual(
        lines(FOUND, "human: q2 | human: q3 | human: q4 | ai: later answer"),
      );
    },
  );

  type Dead = Awaited<ReturnType<typeof deadThread>>;
  const removalOf = (message?: BaseMessage) => new RemoveMessage({ id: message?.id ?? "" });

  it.each<[what: string, next: (thread: Dead) => Promise<string[]>, found: string]>([
    [
      "stays with an update of the state",
      async ({ graph, send }) => {
        await graph.updateState(config, user("by update"));
        return send(user("q2"));
      },
      `${FOUND} | human: by update`,
    ],
    [
      "stays once if the client sends it with its next message",
      async ({ read, send }) => send({ messages: [...(await read()), new HumanMessage("q2")] }),
      FOUND,
    ],
    [
      "does not come back if the next input removes it",
      async ({ read, send }) => send({ messages: [removalOf((await read())[1]), new HumanMessage("q2")] }),
      "human: q1",
    ],
    [
      "does not come back if the next input removes all messages, and sends the question again",
      async ({ read, send }) =>
        send({ messages: [removeAll(), ...(await read()).slice(0, 1), new HumanMessage("q2")] }),
      "human: q1",
    ],
    [
      "does not come back if an update of the state removes it",
      async ({ graph, read, send }) => {
        await graph.updateState(config, { messages: [removalOf((await read())[1])] });
        return send(user("q2"));
      },
      "human: q1",
    ],
  ])("%s", async (_what, next, found) => {
    const thread = await deadThread();
    expect(await next(thread)).toEqual(lines(found, LATER));
    expect(await thread.send(user("q3"))).toEqual(lines(found, LATER, "human: q3 | ai: later answer"));
  });

  it("is found if the client names the latest checkpoint, as LangGraph's SDK does", async () => {
    const { graph, send } = await deadThread();
    const { config: head } = await graph.getState(config);
    expect(await send(user("q2"), head)).toContain("ai: THE ANSWER");
  });

  it("is not taken into another branch of the thread, nor into one whose first run died", async () => {
    for (const interruptBefore of [[], ["model", "patch"]] as ("model" | "patch")[][]) {
      const { graph, send } = await deadThread();
      const { config: asked } = await graph.getState(config);
      await send(null);
      await graph.invoke(user("q2"), { ...asked, interruptBefore });
      const branch = interruptBefore.length === 0 ? LATER : "human: q2";
      expect(await send(user("q3"))).toEqual(lines("human: q1", branch, "human: q3 | ai: later answer"));
    }
  });
});

/** A tool that writes these messages beside its result. */
function writing(name: string, others: (label: string) => BaseMessage[]) {
  return makeTool(
    name,
    async ({ label }, { toolCallId }: ToolRuntime) => {
      const result = new ToolMessage({ content: `${name} ${label}`, tool_call_id: toolCallId });
      return new Command({ update: { messages: [result, ...others(label)] } });
    },
    z.object({ label: z.string().default("-") }),
  );
}

describe("the other messages of a tool's Command, if a sibling was slow and the run was cancelled,", () => {
  /** What the thread shows after a run with calls of this tool was cancelled, and after the next run. */
  async function cancelled(tool: ReturnType<typeof writing>, ...labels: string[]) {
    const probe = createProbe();
    const wanted = labels.map((label): [string, object] => [tool.name, { label }]);
    const steps = ["hello there", calls(...wanted, ["heedful", {}, "slow"])];
    const model = new FunctionModel(() => steps.shift() ?? "fine");
    const checkpointer = new MemorySaver();
    const graph = createAgentGraph({ model, tools: [tool, probe.heedful], checkpointer });
    await graph.invoke(user("hello", "hello"), config);
    const unfinished = async () => (await graph.getState(config)).next;
    await abortRun(
      (signal) => graph.invoke(user("go"), { ...config, signal }),
      async () => {
        await probe.hasBegun(1);
        await expect.poll(unfinished, { interval: 5 }).toEqual(["tools"]);
      },
    );
    const shown = script(messagesOf((await graph.getState(config)).values));
    const after = pairedScript(await graph.invoke(user("next"), config));
    expect(model.refused).toEqual([]);
    return { shown, after };
  }

  it("are in the thread, after the group of their calls and in their order", async () => {
    const note = writing("note", (label) =>
      [`NOTE ${label}`, `${label} again`].map((text) => new HumanMessage(text)),
    );
    expect((await cancelled(note, "1", "2")).after.slice(3)).toEqual(
      lines(
        "ai> note note heedful | tool: note 1 | tool: note 2 | tool! Tool call heedful…",
        "human: NOTE 1 | human: 1 again | human: NOTE 2 | human: 2 again | human: next | ai: fine",
      ),
    );
  });

  it("are removals too", async () => {
    const forget = writing("forget", () => [new RemoveMessage({ id: "hello" })]);
    const { shown, after } = await cancelled(forget, "-");
    expect(shown[0]).toBe("ai: hello there");
    expect(after.slice(0, 2)).toEqual(lines("ai: hello there | human: go"));
  });

  it("remove all messages but those that came later", async () => {
    const clear = writing("clear", () => [removeAll(), new HumanMessage("a clean start")]);
    const { shown, after } = await cancelled(clear, "-");
    expect(shown).toEqual(["human: a clean start"]);
    expect(after).toEqual(lines("human: a clean start | human: next | ai: fine"));
  });

  it("replace a message, unless it was changed since", async () => {
    const edit = writing("edit", () => [new HumanMessage({ content: "edited", id: "hello" })]);
    expect((await cancelled(edit, "-")).after[0]).toBe("human: edited");
  });
});

// What tools wrote to own keys of the state, when their run ended before it was applied.

describe("a run after a cancelled one", () => {
  const texts = z.array(z.string());
  const log = new ReducedValue(
    texts.default(() => []),
    { inputSchema: texts, reducer: (a, b) => [...a, ...b] },
  );
  const stateSchema = new StateSchema({ plan: z.string().optional(), log });
  const note = makeTool(
    "note",
    ({ plan }, _runtime: ToolRuntime) => new Command({ update: { plan, log: [plan] } }),
    z.object({ plan: z.string() }),
  );

  /** A thread whose first run was cancelled after two notes, and beside a call that had not finished. */
  async function cancelled(...then: readonly Step[]) {
    const probe = createProbe();
    const checkpointer = new MemorySaver();
    const agent = createAgentGraph({
      model: scripted(calls(["note", { plan: "a" }], ["note", { plan: "b" }], ["heedful"]), ...then),
      tools: [note, probe.heedful],
      stateSchema,
      checkpointer,
    });
    const saved = async () => {
      const writes = (await checkpointer.getTuple(config))?.pendingWrites ?? [];
      return writes.filter(([, channel]) => channel === "plan").length;
    };
    await abortRun(
      (signal) => agent.invoke(user("hi"), { ...config, signal }),
      () => expect.poll(saved, { interval: 5 }).toBe(2),
    );
    return agent;
  }

  it("has what the finished tools wrote, in the order of their calls", async () => {
    let last: string | undefined;
    const reading = agentMiddleware(async (context, next) => {
      await next();
      last = context.result?.text;
    });
    const agent = await cancelled("done");
    const result = await agent.invoke(user("more"), { ...config, middleware: [reading] });
    expect(result).toMatchObject({ plan: "b", log: ["a", "b"] });
    expect(pairedScript(result).slice(2, 5)).toEqual(
      lines("tool: (no output) | tool: (no output) | tool! Tool call heedful…"),
    );
    // Agent middleware sees the whole history.
    expect(last).toBe("done");
  });

  it("keeps a value of its own input, and adds to a reduced one", async () => {
    const agent = await cancelled("done");
    const result = await agent.invoke({ ...user("more"), plan: "mine", log: ["mine"] }, config);
    expect(result).toMatchObject({ plan: "mine", log: ["mine", "a", "b"] });
  });

  it("recovers it once", async () => {
    const agent = await cancelled("done", "again");
    await agent.invoke(user("more"), config);
    await agent.updateState(config, { plan: "mine", log: new Overwrite([]) });
    expect(await agent.invoke(user("and more"), config)).toMatchObject({ plan: "mine", log: [] });
  });
});
