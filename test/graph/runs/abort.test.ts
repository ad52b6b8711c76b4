import { getEventListeners } from "node:events";
import { Command, GraphDrained, MemorySaver, RunControl } from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { type AgentEvent, type AgentGraph, createAgentGraph } from "../../../src/index.js";
import { abortRun } from "../../support/abort-run.js";
import { allOf } from "../../support/all-of.js";
import { createLook } from "../../support/chain-script.js";
import { DURABILITIES, type Durability } from "../../support/crashing-thread.js";
import { FunctionModel } from "../../support/function-model.js";
import { lines } from "../../support/lines.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

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
