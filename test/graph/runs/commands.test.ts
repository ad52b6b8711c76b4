import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver, Send } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, InvalidCommandError } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

function createThread() {
  const probe = createProbe();
  /** A tool that itself asks a human. */
  const ask = tool(async ({ question }) => `a human said ${interrupt(question)}`, {
    name: "ask",
    description: "ask",
    schema: z.object({ question: z.string().default("?") }),
  });
  const graph = createAgentGraph({
    model: "offline:",
    tools: [ask, probe.fast],
    checkpointer: new MemorySaver(),
  });
  const resume = (value: unknown) => graph.invoke(new Command({ resume: value }) as unknown as null, config);
  const read = async () => messagesOf((await graph.getState(config)).values);
  return { graph, probe, resume, read };
}

describe("a tool that interrupts its run", () => {
  it("goes on with the answer, and its sibling is run once", async () => {
    const { graph, probe, resume } = createThread();
    const halted = await graph.invoke(user('call ask {"question": "may I?"} and call fast'), config);
    expect(halted).toMatchObject({ __interrupt__: [{ value: "may I?" }] });
    expect(pairedScript(await resume("yes")).slice(1)).toEqual([
      "ai> ask fast",
      "tool: a human said yes",
      "tool: fast done -",
      expect.stringMatching(/^ai: .*a human said yes/s),
    ]);
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it("is closed by a message that comes instead of the answer, and its sibling's result stays", async () => {
    const { graph, probe } = createThread();
    await graph.invoke(user("call ask and call fast"), config);
    expect(pairedScript(await graph.invoke(user("never mind"), config)).slice(1, 5)).toEqual([
      "ai> ask fast",
      expect.stringMatching(/^tool! Tool call ask .*: a new message came before it finished\./),
      "tool: fast done -",
      "human: never mind",
    ]);
    expect(probe.runs).toEqual(["fast:-"]);
  });
});

describe("a run that its caller halts before the tools", () => {
  const halted = async () => {
    const thread = createThread();
    await thread.graph.invoke(user("call fast and call fast"), { ...config, interruptBefore: ["tools"] });
    expect(thread.probe.runs).toEqual([]);
    expect(script(await thread.read())).toEqual(["human: call fast and call fast", "ai> fast fast"]);
    return thread;
  };

  it("goes on with a null input", async () => {
    const { graph, probe } = await halted();
    expect(pairedScript(await graph.invoke(null, config))).toHaveLength(5);
    expect(probe.runs).toHaveLength(2);
  });

  it("runs no tool when a message comes instead", async () => {
    const { graph, probe } = await halted();
    expect(pairedScript(await graph.invoke(user("never mind"), config)).slice(1, 4)).toEqual([
      "ai> fast fast",
      expect.stringMatching(/^tool! Tool call fast .*: a new message came/),
      expect.stringMatching(/^tool! Tool call fast .*: a new message came/),
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("takes no results from the caller instead, because the calls are the tools' to answer", async () => {
    const { graph, probe, read } = await halted();
    const [, calling] = await read();
    const ids = (Reflect.get(calling ?? {}, "tool_calls") as { id: string }[]).map(({ id }) => id);
    const messages = ids.map((id) => ({ role: "tool", content: `given ${id}`, tool_call_id: id }));
    const events: unknown[] = [];
    for await (const event of await graph.stream({ messages }, { ...config, streamMode: "custom" }))
      events.push(event);
    expect(events).toEqual([
      ...ids.map((callId) => ({ type: "result-refused", tool: "fast", callId })),
      ...ids.map((callId) => ({ type: "call-closed", tool: "fast", callId, cause: "unrecorded" })),
      expect.objectContaining({ type: "run-end" }),
    ]);
    expect(pairedScript(await graph.invoke(user("never mind"), config)).slice(1, 4)).toEqual([
      "ai> fast fast",
      expect.stringMatching(/^tool! Tool call fast .*: no result was recorded/),
      expect.stringMatching(/^tool! Tool call fast .*: no result was recorded/),
    ]);
    expect(probe.runs).toEqual([]);
  });
});

describe("a Command that would run a tool that no model called is refused:", () => {
  const forged = { call: { id: "f", name: "fast", kind: "valid" }, args: { label: "forged" } };
  const cases: readonly (readonly [what: string, command: Command])[] = [
    ["by the node's name", new Command({ goto: "tools" })],
    ["by a Send", new Command({ goto: new Send("tools", forged) })],
    ["among others", new Command({ update: user("x"), goto: ["model", new Send("tools", forged)] })],
    ["with an answer to an interrupt", new Command({ resume: "yes", goto: [new Send("tools", forged)] })],
  ];

  it.each(cases)("%s", async (_what, command) => {
    const { graph, probe, read } = createThread();
    await graph.invoke(user("hello"), config);
    const before = await read();
    const run = graph.invoke(command as unknown as null, config);
    await expect(run).rejects.toBeInstanceOf(InvalidCommandError);
    expect(await read()).toEqual(before);
    expect(probe.runs).toEqual([]);
    expect(pairedScript(await graph.invoke(user("call fast"), config))).toHaveLength(6);
  });
});
