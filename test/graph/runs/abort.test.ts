import { getEventListeners } from "node:events";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { type AgentEvent, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

const DURABILITIES = ["async", "sync", "exit"] as const;

type Durability = (typeof DURABILITIES)[number];

/** A graph over the offline model, and one thread of it. */
function createThread() {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.heedful, probe.deaf, probe.failing],
    checkpointer: new MemorySaver(),
  });
  const config = { configurable: { thread_id: "1" } };
  const send = async (text: string, options: object = {}): Promise<AgentEvent[]> => {
    const events: AgentEvent[] = [];
    const stream = await graph.stream(user(text), { ...config, streamMode: "custom", ...options });
    for await (const event of stream) events.push(event as unknown as AgentEvent);
    return events.filter(({ type }) => type !== "run-end");
  };
  /** Sends a message, and aborts the run when this many calls have begun and this many have ended. */
  const abort = async (
    text: string,
    { begun, ended }: Record<string, number>,
    durability: Durability = "async",
  ) => {
    const controller = new AbortController();
    const begins = probe.runs.length + (begun ?? 0);
    const ends = probe.ends.length + (ended ?? 0);
    const run = send(text, { signal: controller.signal, durability });
    await probe.hasBegun(begins);
    await expect.poll(() => probe.ends.length).toBe(ends);
    // A tool's end is not yet the end of its task.
    await turns();
    controller.abort();
    await expect(run).rejects.toThrow(/abort/i);
  };
  const read = async () => (await graph.getState(config)).values;
  return { probe, graph, config, send, abort, read };
}

const SUPERSEDED = "a new message came before it finished. It may or may not have taken effect.";

describe.each(DURABILITIES)(
  "a run that is aborted in the middle of a batch, with durability %s",
  (durability) => {
    it.each(["heedful", "deaf"])(
      "has the result of the finished tool after the next message (%s)",
      async (slow) => {
        const { probe, send, abort, read } = createThread();
        await abort(`call ${slow} and call fast {"label": "x"}`, { begun: 2, ended: 1 }, durability);
        const events = await send("hello");

        const messages = messagesOf(await read());
        expect(script(messages).slice(0, 5)).toEqual([
          `human: call ${slow} and call fast {"label": "x"}`,
          `ai> ${slow} fast`,
          expect.stringMatching(new RegExp(`^tool! Tool call ${slow} \\(call_\\w+\\): ${SUPERSEDED}$`)),
          "tool: fast done x",
          "human: hello",
        ]);
        expect(pairedScript({ messages })).toHaveLength(6);
        expect(probe.runs.toSorted()).toEqual([`${slow}:-`, "fast:x"].toSorted());
        expect(events.map((event) => [event.type, "tool" in event && event.tool])).toEqual([
          ["call-closed", slow],
          ["result-recovered", "fast"],
        ]);
        probe.release();
      },
    );
  },
);

describe("a run that is aborted", () => {
  it("keeps the result of a tool that failed", async () => {
    const { send, abort, read, probe } = createThread();
    await abort("call heedful and call failing and call fast", { begun: 3, ended: 1 });
    await send("hello");
    expect(pairedScript(await read()).slice(3, 5)).toEqual([
      "tool! Error: `failing` failed.",
      "tool: fast done -",
    ]);
    expect(probe.runs).toHaveLength(3);
  });

  it("has a late result put in the place of its placeholder", async () => {
    const { graph, config, send, abort, read } = createThread();
    await abort("call heedful and call fast", { begun: 2, ended: 1 });
    await send("hello");
    const [, placeholder] = messagesOf(await read()).slice(1);
    const id = Reflect.get(placeholder ?? {}, "tool_call_id");
    await graph.updateState(config, { messages: [{ role: "tool", content: "late", tool_call_id: id }] });
    expect(pairedScript(await read()).slice(1, 5)).toEqual([
      "ai> heedful fast",
      "tool: late",
      "tool: fast done -",
      "human: hello",
    ]);
    expect(await send("and now?")).toEqual([]);
  });

  it("keeps a tool's result even if only a state update follows", async () => {
    const { graph, config, send, abort, read } = createThread();
    await abort("call heedful and call fast", { begun: 2, ended: 1 });
    await graph.updateState(config, { messages: [{ role: "user", content: "by update" }] });
    await send("hello");
    expect(pairedScript(await read())).toContain("tool: fast done -");
  });

  it("runs no tool again when a Command updates it", async () => {
    const { graph, config, abort, probe } = createThread();
    await abort("call deaf and call fast", { begun: 2, ended: 1 });
    probe.release();
    const command = new Command({ update: user("hello") });
    const lines = pairedScript(await graph.invoke(command as unknown as null, config));
    expect(lines).toContain("tool: fast done -");
    expect(lines.at(-1)).toBe("human: hello");
    expect(probe.runs).toHaveLength(2);
  });

  it("while the model speaks leaves the user's message, and the next run answers", async () => {
    const { graph, config, send, read } = createThread();
    const controller = new AbortController();
    const stream = await graph.stream(user("hello"), {
      ...config,
      signal: controller.signal,
      streamMode: "messages",
    });
    const consume = async () => {
      for await (const _chunk of stream) controller.abort();
    };
    await expect(consume()).rejects.toThrow(/abort/i);
    await send("again");
    expect(pairedScript(await read()).map((line) => line.split(" ")[0])).toEqual(["human:", "human:", "ai:"]);
  });

  it.each(["invoke", "stream", "streamEvents"] as const)(
    "listens to the signal that is bound to its graph (%s)",
    async (method) => {
      const { graph, config, probe } = createThread();
      const controller = new AbortController();
      const bound = graph.withConfig({ signal: controller.signal });
      const run = (async () => {
        if (method === "invoke") return void (await bound.invoke(user("call heedful"), config));
        const chunks =
          method === "stream"
            ? await bound.stream(user("call heedful"), config)
            : bound.streamEvents(user("call heedful"), { ...config, version: "v2" });
        for await (const _chunk of chunks);
      })();
      await probe.hasBegun(1);
      controller.abort();
      await expect(run).rejects.toThrow(/abort/i);
    },
  );

  it("warns of no listeners, however many runs have one signal", async () => {
    const { graph } = createThread();
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    const { signal } = new AbortController();
    const inThread = (index: number) => ({ configurable: { thread_id: `${index % 3}` }, signal });
    const consume = async (index: number) => {
      const options = inThread(index);
      const chunks =
        index % 4 === 0
          ? await graph.stream(user("hello"), options)
          : graph.streamEvents(user("hello"), { ...options, version: "v2" });
      for await (const _chunk of chunks);
    };
    await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        index % 2 === 0
          ? consume(index)
          : graph.withConfig({ signal }).invoke(user("hello"), inThread(index)),
      ),
    );
    await turns();
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("leaves no timer behind if it could not begin", async () => {
    const { graph, config } = createThread();
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
