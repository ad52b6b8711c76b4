/** Agents as nodes of a parent graph that hand the conversation to one another, as in a swarm or under a supervisor. */

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import {
  Command,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraph, createAgentGraph, PairedMessagesValue } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

/** A tool that hands the conversation to another agent, with the messages that it has seen. */
function handOff(agent: string, sendsHistory = true) {
  return tool(
    async (_, { state, toolCallId }: ToolRuntime) => {
      const { messages } = state as { messages: unknown[] };
      const result = new ToolMessage({ content: `transferred to ${agent}`, tool_call_id: toolCallId });
      return new Command({
        goto: agent,
        graph: Command.PARENT,
        update: { messages: sendsHistory ? [...messages, result] : [result] },
      });
    },
    { name: `to_${agent}`, description: `Hands off to ${agent}.`, schema: z.object({}) },
  );
}

const CHANNELS = {
  "LangGraph's channel": MessagesAnnotation,
  "the paired channel": new StateSchema({ messages: PairedMessagesValue }),
};

function team(channel: keyof typeof CHANNELS, agents: Readonly<Record<string, AgentGraph>>) {
  const names = Object.keys(agents);
  const state = CHANNELS[channel] as unknown as typeof MessagesAnnotation;
  const graph = new StateGraph(state) as unknown as {
    addNode(name: string, node: unknown, options: object): void;
    addEdge(from: string, to: string): void;
    compile(options: object): { invoke(input: unknown, config: object): Promise<unknown> };
  };
  for (const name of names) graph.addNode(name, agents[name], { ends: names });
  graph.addEdge(START, names[0] ?? "");
  return graph.compile({ checkpointer: new MemorySaver() });
}

describe.each(["LangGraph's channel", "the paired channel"] as const)("a hand-off, with %s", (channel) => {
  it("beside a parallel call leads to the other agent, and keeps the result of the call", async () => {
    const probe = createProbe();
    const agents = {
      alice: createAgentGraph({
        model: scripted(
          calls(["deaf", { label: "1" }, "work"], ["to_bob", {}, "go"], ["failing", {}, "bad"]),
        ),
        tools: [handOff("bob"), probe.deaf, probe.failing],
      }),
      bob: createAgentGraph({ model: scripted("bob is here") }),
    };
    const graph = team(channel, agents);
    const run = graph.invoke(user("hello"), inThread("1"));
    await probe.hasBegun(2);
    probe.release();
    expect(pairedScript(await run)).toEqual([
      "human: hello",
      "ai> deaf to_bob failing",
      "tool: deaf done 1",
      "tool: transferred to bob",
      "tool! Error: `failing` failed.",
      "ai: bob is here",
    ]);
  });

  it("keeps the other messages of the calls beside it", async () => {
    const note = tool(
      async (_, { toolCallId }: ToolRuntime) =>
        new Command({
          update: {
            messages: [
              new ToolMessage({ content: "noted", tool_call_id: toolCallId }),
              new HumanMessage("NOTE"),
            ],
          },
        }),
      { name: "note", description: "note", schema: z.object({}) },
    );
    const agents = {
      alice: createAgentGraph({
        model: scripted(calls(["to_bob"], ["note"])),
        tools: [handOff("bob"), note],
      }),
      bob: createAgentGraph({ model: scripted("bob is here") }),
    };
    expect(pairedScript(await team(channel, agents).invoke(user("hello"), inThread("1"))).slice(1)).toEqual([
      "ai> to_bob note",
      "tool: transferred to bob",
      "tool: noted",
      "human: NOTE",
      "ai: bob is here",
    ]);
  });

  it("works with a limit of one call at a time, and there and back again", async () => {
    const probe = createProbe();
    const alice = scripted(calls(["to_bob"], ["fast", { label: "1" }]), "alice is back");
    const agents = {
      alice: createAgentGraph({ model: alice, tools: [handOff("bob"), probe.fast] }),
      bob: createAgentGraph({
        model: scripted(calls(["fast", { label: "2" }], ["to_alice"])),
        tools: [handOff("alice"), probe.fast],
      }),
    };
    const config = { ...inThread("1"), maxConcurrency: 1 };
    expect(pairedScript(await team(channel, agents).invoke(user("hello"), config)).slice(1)).toEqual([
      "ai> to_bob fast",
      "tool: transferred to bob",
      "tool: fast done 1",
      "ai> fast to_alice",
      "tool: fast done 2",
      "tool: transferred to alice",
      "ai: alice is back",
    ]);
  });

  it("beside a call that waits for a human leads on, and the call is closed", async () => {
    const probe = createProbe();
    const agents = {
      alice: createAgentGraph({
        model: scripted(calls(["to_bob"], ["fast"])),
        tools: [handOff("bob"), probe.fast],
        requireApproval: ["fast"],
      }),
      bob: createAgentGraph({ model: scripted("bob is here") }),
    };
    const lines = pairedScript(await team(channel, agents).invoke(user("hello"), inThread("1")));
    expect(lines.slice(1)).toEqual([
      "ai> to_bob fast",
      "tool: transferred to bob",
      expect.stringMatching(/^tool! Tool call fast .*no result was recorded/),
      "ai: bob is here",
    ]);
    expect(probe.runs).toEqual([]);
  });
});

describe("an agent that is handed a thread with an open call at its end", () => {
  it("answers, and closes the call", async () => {
    const { fast, runs } = createProbe();
    const model = new FunctionModel(() => "here I am");
    const graph = createAgentGraph({ model, tools: [fast] });
    const messages = [
      new HumanMessage("go"),
      calls(["fast", {}, "1"], ["elsewhere", {}, "2"]),
      new ToolMessage({ content: "one", tool_call_id: "1" }),
    ];
    expect(pairedScript(await graph.invoke({ messages }))).toEqual([
      "human: go",
      "ai> fast elsewhere",
      "tool: one",
      "tool! Tool call elsewhere (2): no result was recorded for it. It may or may not have taken effect.",
      "ai: here I am",
    ]);
    expect(model.refused).toEqual([]);
    expect(runs).toEqual([]);
  });
});
