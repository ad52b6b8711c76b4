/** What the next run finds of one that was aborted, drained, or ended before it could store what it had shown. */

import { getEventListeners } from "node:events";
import {
  type AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import {
  Command,
  GraphDrained,
  MemorySaver,
  Overwrite,
  ReducedValue,
  RunControl,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  type AgentEvent,
  type AgentGraph,
  type AgentGraphOptions,
  agentMiddleware,
  createAgentGraph,
} from "../../../src/index.js";
import { allOf, turns } from "../../support/async.js";
import { createLook } from "../../support/chain-script.js";
import { DURABILITIES, type Durability } from "../../support/crashing-thread.js";
import { lines } from "../../support/lines.js";
import { removeAll } from "../../support/make-messages.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const config = inThread("1");

/** A graph over the offline model, and one thread of it. */
function createThread() {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.heedful, probe.deaf, probe.failing],
    checkpointer: new MemorySaver(),
  });
  const send = async (text: string, options: object = {}): Promise<AgentEvent[]> => {
    const stream = graph.stream(user(text), { ...config, ...options, streamMode: "custom" });
    return (await allOf<AgentEvent>(stream)).filter(({ type }) => type !== "run-end");
  };
  /** Sends a message, and aborts the run when this many calls have begun and one has ended. */
  const abort = (text: string, begun = 2, durability: Durability = "async") =>
    abortRun(
      (signal) => send(text, { signal, durability }),
      async () => {
        await probe.hasBegun(begun);
        await expect.poll(() => probe.ends.length, { interval: 5 }).toBe(1);
        // A tool's end is not yet the end of its task.
        await turns();
      },
    );
  const read = async () => messagesOf((await graph.getState(config)).values);
  return { probe, graph, send, abort, read };
}

const SUPERSEDED = "a new message came before it finished. It may or may not have taken effect.";

it.each(DURABILITIES.flatMap((durability) => ["heedful", "deaf"].map((slow) => [durability, slow] as const)))(
  "A run that is aborted in the middle of a batch has the result of its finished tool after the next message (%s, %s)",
  async (durability, slow) => {
    const { probe, send, abort, read } = createThread();
    const request = `call ${slow} and call fast {"label": "x"}`;
    await abort(request, 2, durability);
    const events = await send("hello");
    expect(pairedScript({ messages: await read() })).toEqual(
      lines(
        `human: ${request} | ai> ${slow} fast`,
        `tool! Tool call ${slow} (call_…): ${SUPERSEDED} | tool: fast done x | human: hello | ai: …`,
      ),
    );
    expect(probe.runs.toSorted()).toEqual([`${slow}:-`, "fast:x"].toSorted());
    expect(events.map((event) => [event.type, "tool" in event && event.tool])).toEqual([
      ["call-closed", slow],
      ["result-recovered", "fast"],
    ]);
    probe.release();
  },
);

describe("a run that is aborted", () => {
  it("keeps the result of a tool that failed", async () => {
    const { send, abort, read, probe } = createThread();
    await abort("call heedful and call failing and call fast", 3);
    await send("hello");
    expect(script(await read()).slice(3, 5)).toEqual(
      lines("tool! Error: `failing` failed. | tool: fast done -"),
    );
    expect(probe.runs).toHaveLength(3);
  });

  it("has a late result put in the place of its placeholder", async () => {
    const { graph, send, abort, read } = createThread();
    await abort("call heedful and call fast");
    await send("hello");
    const id = Reflect.get((await read())[2] ?? {}, "tool_call_id");
    await graph.updateState(config, { messages: [{ role: "tool", content: "late", tool_call_id: id }] });
    expect(pairedScript({ messages: await read() }).slice(1, 5)).toEqual(
      lines("ai> heedful fast | tool: late | tool: fast done - | human: hello"),
    );
    expect(await send("and now?")).toEqual([]);
  });

  it("keeps a tool's result even if only a state update follows", async () => {
    const { graph, send, abort, read } = createThread();
    await abort("call heedful and call fast");
    await graph.updateState(config, user("by update"));
    await send("hello");
    expect(pairedScript({ messages: await read() })).toContain("tool: fast done -");
  });

  it("runs no tool again when a Command updates it", async () => {
    const { graph, abort, probe } = createThread();
    await abort("call deaf and call fast");
    probe.release();
    const command = new Command({ update: user("hello") });
    const after = pairedScript(await graph.invoke(command as unknown as null, config));
    expect(after).toContain("tool: fast done -");
    expect(after.at(-1)).toBe("human: hello");
    expect(probe.runs).toHaveLength(2);
  });

  it("while the model speaks leaves the user's message, and the next run answers", async () => {
    const { graph, send, read } = createThread();
    const controller = new AbortController();
    const options = { ...config, signal: controller.signal, streamMode: "messages" as const };
    const consume = async () => {
      for await (const _ of await graph.stream(user("hello"), options)) controller.abort();
    };
    await expect(consume()).rejects.toThrow(/abort/i);
    await send("again");
    expect(script(await read())).toEqual(lines("human: hello | human: again | ai: …"));
  });

  it.each<[method: string, run: (graph: AgentGraph, input: ReturnType<typeof user>) => Promise<unknown>]>([
    ["invoke", (graph, input) => graph.invoke(input, config)],
    ["stream", (graph, input) => allOf(graph.stream(input, config))],
    ["streamEvents", (graph, input) => allOf(graph.streamEvents(input, { ...config, version: "v2" }))],
  ])("listens to the signal that is bound to its graph (%s)", async (_method, run) => {
    const { graph, probe } = createThread();
    await abortRun(
      (signal) => run(graph.withConfig({ signal }), user("call heedful")),
      () => probe.hasBegun(1),
    );
  });

  it("warns of no listeners, however many runs have one signal", async () => {
    const { graph } = createThread();
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    const { signal } = new AbortController();
    const hello = user("hello");
    const ways = [
      (thread: object) => allOf(graph.stream(hello, { ...thread, signal })),
      (thread: object) => graph.withConfig({ signal }).invoke(hello, thread),
      (thread: object) => allOf(graph.streamEvents(hello, { ...thread, signal, version: "v2" })),
    ];
    const runs = Array.from({ length: 24 }, (_, index) => ways[index % 3]?.(inThread(`${index % 4}`)));
    await Promise.all(runs);
    await turns();
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("leaves no timer behind if it could not begin", async () => {
    const { graph } = createThread();
    vi.useFakeTimers();
    try {
      const controller = new AbortController();
      const { signal } = controller;
      await expect(graph.stream(user("hello"), { ...config, signal, timeout: 0 })).rejects.toThrow(
        /timeout/i,
      );
      controller.abort();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a run that is told to drain", () => {
  function setUp() {
    const control = new RunControl();
    const { look, looked } = createLook();
    const draining = makeTool(
      "look",
      async (args: { city: string }) => {
        control.requestDrain("SIGTERM");
        return look.invoke(args);
      },
      z.object({ city: z.string() }),
    );
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.type === "tool"
        ? "It is clear."
        : calls(["look", { city: "Rome" }], ["look", { city: "Oslo" }]),
    );
    const graph = createAgentGraph({ model, tools: [draining], checkpointer: new MemorySaver() });
    return { graph, model, control, looked };
  }

  it("ends after the tools that run, and the next run goes on with their results", async () => {
    const { graph, model, control, looked } = setUp();
    await expect(graph.invoke(user("go"), { ...config, control })).rejects.toThrow(GraphDrained);
    const { values } = await graph.getState(config);
    const found = "human: go | ai> look look | tool: Rome: clear | tool: Oslo: clear";
    expect(script(messagesOf(values))).toEqual(lines(found));
    expect(model.requests).toHaveLength(1);
    expect(pairedScript(await graph.invoke({ messages: [] }, config))).toEqual(
      lines(found, "ai: It is clear."),
    );
    expect(looked).toEqual(["Rome", "Oslo"]);
  });

  it("begins nothing if it is told before", async () => {
    const { graph, model, control } = setUp();
    control.requestDrain("SIGTERM");
    await expect(graph.invoke(user("go"), { ...config, control })).rejects.toThrow(GraphDrained);
    expect(model.requests).toEqual([]);
  });
});

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
