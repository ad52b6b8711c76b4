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
  type AgentGraph,
  type AgentGraphOptions,
  agentMiddleware,
  createAgentGraph,
} from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { allOf, turns } from "../../support/async.js";
import { createLook } from "../../support/chain-script.js";
import { DURABILITIES, type Durability } from "../../support/crashing-thread.js";
import { lines } from "../../support/lines.js";
import { removeAll } from "../../support/make-messages.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import type { Step } from "../../support/scripted-model.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, pairedScript, script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const config = inThread("1");

/** A thread of the offline model. */
function createThread() {
  const thread = agentThread([], {
    model: "offline:",
    tools: ({ fast, heedful, deaf, failing }) => [fast, heedful, deaf, failing],
  });
  const { probe, invoke } = thread;
  /** Sends a message, and aborts the run when this many calls have begun and one has ended. */
  const abort = (text: string, begun = 2, durability: Durability = "async") =>
    abortRun(
      (signal) => invoke(text, { signal, durability }),
      async () => {
        await probe.hasBegun(begun);
        await expect.poll(() => probe.ends.length, { interval: 5 }).toBe(1);
        // A tool's end is not yet the end of its task.
        await turns();
      },
    );
  return { ...thread, abort };
}

const SUPERSEDED = "a new message came before it finished. It may or may not have taken effect.";

it.each(DURABILITIES.flatMap((durability) => ["heedful", "deaf"].map((slow) => [durability, slow] as const)))(
  "A run that is aborted in the middle of a batch has the result of its finished tool after the next message (%s, %s)",
  async (durability, slow) => {
    const { probe, send, abort, lines: read } = createThread();
    const request = `call ${slow} and call fast {"label": "x"}`;
    await abort(request, 2, durability);
    const { events } = await send("hello");
    expect(await read()).toEqual(
      lines(
        `human: ${request} | ai> ${slow} fast`,
        `tool! Tool call ${slow} (call_…): ${SUPERSEDED} | tool: fast done x | human: hello | ai: …`,
      ),
    );
    expect(probe.runs.toSorted()).toEqual([`${slow}:-`, "fast:x"].toSorted());
    expect(events).toMatchObject([
      { type: "call-closed", tool: slow },
      { type: "result-recovered", tool: "fast" },
      { type: "run-end" },
    ]);
    probe.release();
  },
);

describe("a run that is aborted", () => {
  it("keeps the result of a tool that failed", async () => {
    const { run, abort, runs } = createThread();
    await abort("call heedful and call failing and call fast", 3);
    expect((await run("hello")).slice(3, 5)).toEqual(
      lines("tool! Error: `failing` failed. | tool: fast done -"),
    );
    expect(runs).toHaveLength(3);
  });

  it.each([
    ["of the thread", async () => config],
    ["that names the latest checkpoint", async (graph: AgentGraph) => (await graph.getState(config)).config],
  ] as const)("keeps a tool's result even if only a state update follows, %s", async (_, place) => {
    const { graph, pairedRun, abort } = createThread();
    await abort("call heedful and call fast");
    await graph.updateState(await place(graph as AgentGraph), user("by update"));
    expect(await pairedRun("hello")).toContain("tool: fast done -");
  });

  it("keeps a tool's result in a branch that an update begins on its checkpoint", async () => {
    const { graph, pairedRun, abort } = createThread();
    await abort("call heedful and call fast");
    const { config: cancelled } = await graph.getState(config);
    await pairedRun("hello");
    await graph.updateState(cancelled, user("by update"));
    expect(await pairedRun("hello again")).toContain("tool: fast done -");
  });

  it("runs no tool again when a Command updates it", async () => {
    const { pairedRun, abort, probe } = createThread();
    await abort("call deaf and call fast");
    probe.release();
    const after = await pairedRun(new Command({ update: user("hello") }));
    expect(after).toContain("tool: fast done -");
    expect(after.at(-1)).toBe("human: hello");
    expect(probe.runs).toHaveLength(2);
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

  it("warns of no listeners, however many runs have one signal, and calls a response", async () => {
    const { graph } = createThread();
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    const { signal } = new AbortController();
    const hello = user("call fast\n".repeat(12));
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
    return { ...agentThread([], { model, tools: [draining] }), asked: model.requests, control, looked };
  }

  it("ends after the tools that run, and the next run goes on with their results", async () => {
    const { invoke, lines: read, pairedRun, asked, control, looked } = setUp();
    await expect(invoke("go", { control })).rejects.toThrow(GraphDrained);
    const found = "human: go | ai> look look | tool: Rome: clear | tool: Oslo: clear";
    expect(await read()).toEqual(lines(found));
    expect(asked).toHaveLength(1);
    expect(await pairedRun({ messages: [] })).toEqual(lines(found, "ai: It is clear."));
    expect(looked).toEqual(["Rome", "Oslo"]);
  });

  it("begins nothing if it is told before", async () => {
    const { invoke, asked, control } = setUp();
    control.requestDrain("SIGTERM");
    await expect(invoke("go", { control })).rejects.toThrow(GraphDrained);
    expect(asked).toEqual([]);
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
  const thread = agentThread([], { model, checkpointer: saver, ...options });
  const doomedModel = new FunctionModel(() => {
    die();
    return response;
  });
  const doomed = createAgentGraph({ ...options, model: doomedModel, checkpointer: mortal });
  await expect(doomed.invoke(user("q1"), { ...config, durability: "sync" })).rejects.toThrow("died");
  return thread;
}

const FOUND = "human: q1 | ai: THE ANSWER";
const LATER = "human: q2 | ai: later answer";

describe("a response that was shown and not stored", () => {
  it("is marked with its place, and reported", async () => {
    const { messages, send } = await deadThread();
    const [, response] = await messages();
    expect((await send("q2")).events).toMatchObject([
      { type: "response-recovered", messageId: response?.id },
      { type: "run-end" },
    ]);
    expect((await messages())[1]?.additional_kwargs["tether_recovered"]).toEqual({});
  });

  it("is not streamed again to clients, which would join it with what they have", async () => {
    const { parts } = await (await deadThread()).send("q2");
    expect(parts.map(({ text }) => text).join("")).toBe("later answer");
  });

  it("has its calls closed, and they are not run", async () => {
    const { fast, runs } = createProbe();
    const { pairedRun } = await deadThread(calls(["fast", {}, "a"]), { tools: [fast] });
    const closed = "tool! Tool call fast (a): its run ended before it was started, so it was not run.";
    expect(await pairedRun("q2")).toEqual(lines("human: q1 | ai> fast", closed, LATER));
    expect(runs).toEqual([]);
  });

  it.each(DURABILITIES)(
    "is found after runs that ended before they could recover it (%s)",
    async (durability) => {
      const { invoke, pairedRun } = await deadThread();
      for (const text of ["q2", "q3"]) await invoke(text, { durability, interruptBefore: ["patch"] });
      expect(await pairedRun("q4")).toEqual(
        lines(FOUND, "human: q2 | human: q3 | human: q4 | ai: later answer"),
      );
    },
  );

  type Dead = Awaited<ReturnType<typeof deadThread>>;
  const removalOf = (message?: BaseMessage) => new RemoveMessage({ id: message?.id ?? "" });

  it.each<[what: string, next: (thread: Dead) => Promise<string[]>, found: string]>([
    [
      "stays with an update of the state",
      async ({ graph, pairedRun }) => {
        await graph.updateState(config, user("by update"));
        return pairedRun("q2");
      },
      `${FOUND} | human: by update`,
    ],
    [
      "stays once if the client sends it with its next message",
      async ({ messages, pairedRun }) =>
        pairedRun({ messages: [...(await messages()), new HumanMessage("q2")] }),
      FOUND,
    ],
    [
      "does not come back if the next input removes it",
      async ({ messages, pairedRun }) =>
        pairedRun({ messages: [removalOf((await messages())[1]), new HumanMessage("q2")] }),
      "human: q1",
    ],
    [
      "does not come back if the next input removes all messages, and sends the question again",
      async ({ messages, pairedRun }) =>
        pairedRun({ messages: [removeAll(), ...(await messages()).slice(0, 1), new HumanMessage("q2")] }),
      "human: q1",
    ],
    [
      "does not come back if an update of the state removes it",
      async ({ graph, messages, pairedRun }) => {
        await graph.updateState(config, { messages: [removalOf((await messages())[1])] });
        return pairedRun("q2");
      },
      "human: q1",
    ],
  ])("%s", async (_what, next, found) => {
    const thread = await deadThread();
    expect(await next(thread)).toEqual(lines(found, LATER));
    expect(await thread.pairedRun("q3")).toEqual(lines(found, LATER, "human: q3 | ai: later answer"));
  });

  it("is found if the client names the latest checkpoint, as LangGraph's SDK does", async () => {
    const { state, pairedRun } = await deadThread();
    const { config: head } = await state();
    expect(await pairedRun("q2", head)).toContain("ai: THE ANSWER");
  });

  it("is not taken into another branch of the thread, nor into one whose first run died", async () => {
    for (const interruptBefore of [[], ["model", "patch"]] as ("model" | "patch")[][]) {
      const { state, invoke, pairedRun } = await deadThread();
      const { config: asked } = await state();
      await invoke(null);
      await invoke("q2", { ...asked, interruptBefore });
      const branch = interruptBefore.length === 0 ? LATER : "human: q2";
      expect(await pairedRun("q3")).toEqual(lines("human: q1", branch, "human: q3 | ai: later answer"));
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
    const wanted = labels.map((label): [string, object] => [tool.name, { label }]);
    const steps = ["hello there", calls(...wanted, ["heedful", {}, "slow"]), "fine"];
    const tools: ThreadOptions["tools"] = ({ heedful }) => [tool, heedful];
    const { probe, invoke, state, messages, pairedRun } = agentThread(steps, { tools });
    await invoke(user("hello", "hello"));
    await abortRun(
      (signal) => invoke("go", { signal }),
      async () => {
        await probe.hasBegun(1);
        await expect.poll(async () => (await state()).next, { interval: 5 }).toEqual(["tools"]);
      },
    );
    const shown = script(await messages());
    return { shown, after: await pairedRun("next") };
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
    const checkpointer = new MemorySaver();
    const agent = agentThread(
      [calls(["note", { plan: "a" }], ["note", { plan: "b" }], ["heedful"]), ...then],
      { tools: ({ heedful }) => [note, heedful], stateSchema, checkpointer },
    );
    const saved = async () => {
      const writes = (await checkpointer.getTuple(config))?.pendingWrites ?? [];
      return writes.filter(([, channel]) => channel === "plan").length;
    };
    await abortRun(
      (signal) => agent.invoke("hi", { signal }),
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
    const result = await agent.invoke("more", { middleware: [reading] });
    expect(result).toMatchObject({ plan: "b", log: ["a", "b"] });
    expect(pairedScript(result).slice(2, 5)).toEqual(
      lines("tool: (no output) | tool: (no output) | tool! Tool call heedful…"),
    );
    // Agent middleware sees the whole history.
    expect(last).toBe("done");
  });

  it("keeps a value of its own input, and adds to a reduced one", async () => {
    const agent = await cancelled("done");
    const result = await agent.invoke({ ...user("more"), plan: "mine", log: ["mine"] });
    expect(result).toMatchObject({ plan: "mine", log: ["mine", "a", "b"] });
  });

  it("recovers it once", async () => {
    const agent = await cancelled("done", "again");
    await agent.invoke("more");
    await agent.graph.updateState(config, { plan: "mine", log: new Overwrite([]) } as never);
    expect(await agent.invoke("and more")).toMatchObject({ plan: "mine", log: [] });
  });
});
