import type { BaseMessage } from "@langchain/core/messages";
import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type AgentGraphOptions, chatMiddleware, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { PlainClient } from "../../support/stream-faults.js";
import { pairedMessagesOf, user } from "../../support/thread.js";

interface Case {
  readonly reason: string;
  readonly options: Partial<AgentGraphOptions>;
  readonly config?: object;
  /** What comes before the answer in which tools are off. */
  readonly before: readonly Step[];
  readonly runs: number;
  readonly words: RegExp;
}

const off = chatMiddleware(async (context, next) => {
  context.options.toolChoice = "none";
  await next();
});
const call = () => calls(["fast"]);

const cases: readonly Case[] = [
  { reason: "maxIterations", options: { maxIterations: 1 }, before: [call()], runs: 1, words: /model calls/ },
  {
    reason: "maxToolCalls",
    options: { maxToolCalls: 1 },
    before: [call()],
    runs: 1,
    words: /tool calls/,
  },
  {
    reason: "a batch that would exceed maxToolCalls",
    options: { maxToolCalls: 1 },
    before: [calls(["fast"], ["fast"])],
    runs: 0,
    words: /tool calls/,
  },
  {
    reason: "maxConsecutiveErrors",
    options: { maxConsecutiveErrors: 1 },
    before: [calls(["failing"])],
    runs: 1,
    words: /several times/,
  },
  {
    reason: "the recursion limit",
    options: {},
    config: { recursionLimit: 3 },
    before: [],
    runs: 0,
    words: /recursion/,
  },
  {
    reason: "afterRequired",
    options: { toolChoice: { mode: "required", afterRequired: "answer" } },
    before: [call()],
    runs: 1,
    words: /required tool/,
  },
  {
    reason: "toolChoice of the graph",
    options: { toolChoice: "none" },
    before: [],
    runs: 0,
    words: /tools are off/,
  },
  {
    reason: "toolChoice of the run",
    options: {},
    config: { context: { toolChoice: "none" } },
    before: [],
    runs: 0,
    words: /tools are off/,
  },
  {
    reason: "a chat middleware",
    options: { middleware: [off] },
    before: [],
    runs: 0,
    words: /tools are off/,
  },
  { reason: "no tools at all", options: { tools: [] }, before: [], runs: 0, words: /no tool/ },
];

describe.each(cases)("tools are off because of $reason", ({ options, config, before, runs, words }) => {
  async function run(stray: AIMessage) {
    const probe = createProbe();
    const graph = createAgentGraph({
      model: scripted(...before, stray),
      tools: [probe.fast, probe.failing],
      ...options,
    });
    const stream = await graph.stream(user("go"), { ...config, streamMode: ["messages", "values"] });
    const client = new PlainClient();
    let values: unknown;
    for await (const [mode, data] of stream) {
      if (mode === "messages") client.add(data[0]);
      else values = data;
    }
    expect(probe.runs).toHaveLength(runs);
    return { last: pairedMessagesOf(values).at(-1), shown: client.messages.at(-1) };
  }

  const sameAs = (message: BaseMessage | undefined) => [message?.id, message?.type, message?.text];

  it("a call that the model makes anyway is removed, and a sentence says why", async () => {
    const { last, shown } = await run(calls(["fast"], ["failing"]));
    expect(last?.type).toBe("ai");
    expect(last?.text).toMatch(words);
    expect(last).toMatchObject({ tool_calls: [], invalid_tool_calls: [] });
    expect(sameAs(shown)).toEqual(sameAs(last));
  });

  it("and what else the message says stays", async () => {
    const { last, shown } = await run(new AIMessage({ ...calls(["fast"]), content: "Let me see." } as never));
    expect(last).toMatchObject({ content: "Let me see.", tool_calls: [] });
    expect(sameAs(shown)).toEqual(sameAs(last));
  });

  it("and an answer without calls is left as it is", async () => {
    const { last, shown } = await run(new AIMessage("All done."));
    expect(last?.text).toBe("All done.");
    expect(sameAs(shown)).toEqual(sameAs(last));
  });
});
