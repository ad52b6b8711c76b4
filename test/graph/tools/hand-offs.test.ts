/** Agents as nodes of a parent graph that hand the conversation to one another, as in a swarm or under a supervisor. */

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import {
  Command,
  InMemoryStore,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createHandoffTool, createSwarm } from "@langchain/langgraph-swarm";
import { describe, expect, it } from "vitest";
import {
  type AgentGraph,
  type AgentGraphOptions,
  createAgentGraph,
  PairedMessagesValue,
} from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { acting, INBOX, THREAD } from "../../support/steering.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

/** A tool that hands the conversation to another agent, with the messages that it has seen. */
function handOff(agent: string, sendsHistory = true) {
  return makeTool(`to_${agent}`, async (_, { state, toolCallId }: ToolRuntime) => {
    const { messages } = state as { messages: unknown[] };
    const result = new ToolMessage({ content: `transferred to ${agent}`, tool_call_id: toolCallId });
    return new Command({
      goto: agent,
      graph: Command.PARENT,
      update: { messages: sendsHistory ? [...messages, result] : [result] },
    });
  });
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
    const note = makeTool(
      "note",
      async (_, { toolCallId }: ToolRuntime) =>
        new Command({
          update: {
            messages: [
              new ToolMessage({ content: "noted", tool_call_id: toolCallId }),
              new HumanMessage("NOTE"),
            ],
          },
        }),
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

// Agents in the teams of LangChain's own packages: under a supervisor, and in a swarm.

const agent = (name: string, tools: AgentGraphOptions["tools"], ...steps: readonly Step[]) =>
  createAgentGraph({ model: scripted(...steps), tools, name });

/** The types of the swarm take no other channel than `MessagesAnnotation`. */
const asMembers = (...agents: readonly AgentGraph[]) => agents as never;

describe("under a supervisor", () => {
  const { fast } = createProbe();
  const team = (outputMode: "full_history" | "last_message", ...steps: readonly Step[]) =>
    createSupervisor({
      agents: [
        agent("math", [fast], calls(["fast", { label: "1" }]), "it is 4"),
        agent("poet", [], "a rose"),
      ],
      llm: scripted(...steps),
      outputMode,
    }).compile({ checkpointer: new MemorySaver() });
  const steps = () => [calls(["transfer_to_math"]), calls(["transfer_to_poet"]), "4, and a rose"];

  it("two agents get the conversation and give it back", async () => {
    const result = await team("last_message", ...steps()).invoke(user("hi"), inThread("1"));
    expect(pairedScript(result)).toEqual([
      "human: hi",
      "ai> transfer_to_math",
      "tool: Successfully transferred to math",
      "ai: it is 4",
      "ai> transfer_back_to_supervisor",
      "tool: Successfully transferred back to supervisor",
      "ai> transfer_to_poet",
      "tool: Successfully transferred to poet",
      "ai: a rose",
      "ai> transfer_back_to_supervisor",
      "tool: Successfully transferred back to supervisor",
      "ai: 4, and a rose",
    ]);
    const names = pairedMessagesOf(result).flatMap(({ type, name }) => (type === "ai" ? [name] : []));
    expect(new Set(names)).toEqual(new Set(["supervisor", "math", "poet"]));
  });

  it("their whole work can be in the conversation", async () => {
    const result = await team("full_history", ...steps()).invoke(user("hi"), inThread("1"));
    expect(pairedScript(result).slice(3, 6)).toEqual(["ai> fast", "tool: fast done 1", "ai: it is 4"]);
  });
});

describe("in a swarm", () => {
  const { fast } = createProbe();
  const to = (agentName: string) => createHandoffTool({ agentName });

  it("agents hand the conversation over, and the active one answers the next message", async () => {
    const bob = scripted("bob here", "still bob");
    const swarm = createSwarm({
      agents: asMembers(
        agent("alice", [fast, to("bob")], calls(["fast", { label: "1" }]), calls(["transfer_to_bob"])),
        createAgentGraph({ model: bob, tools: [to("alice")], name: "bob" }),
      ),
      defaultActiveAgent: "alice",
    }).compile({ checkpointer: new MemorySaver() });
    await swarm.invoke(user("hi"), inThread("1"));
    const result = await swarm.invoke(user("more"), inThread("1"));
    expect(pairedScript(result)).toEqual([
      "human: hi",
      "ai> fast",
      "tool: fast done 1",
      "ai> transfer_to_bob",
      "tool: Successfully transferred to bob",
      "ai: bob here",
      "human: more",
      "ai: still bob",
    ]);
    expect(result).toMatchObject({ activeAgent: "bob" });
  });
});

/** Two agents in one thread. Alice works, and hands the conversation to Bob with the messages that she has seen. */
function steeredTeam(moment: "while Alice works" | "while she hands off") {
  const store = new InMemoryStore();
  const sender = createAgentGraph({ model: "offline:", store });
  const send = () => sender.steer(THREAD, "one more thing");
  const toBob = makeTool("to_bob", async (_, { state, toolCallId }: ToolRuntime) => {
    if (moment === "while she hands off") await send();
    const { messages } = state as { messages: unknown[] };
    const result = new ToolMessage({ content: "transferred", tool_call_id: toolCallId });
    return new Command({ goto: "bob", graph: Command.PARENT, update: { messages: [...messages, result] } });
  });
  const work = acting("work", () => (moment === "while Alice works" ? send() : undefined));
  const alice = createAgentGraph({
    model: scripted(calls(["work"]), calls(["to_bob"])),
    tools: [work, toBob],
  });
  const bob = createAgentGraph({ model: scripted("Bob is here") });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("alice", alice, { ends: ["bob"] })
    .addNode("bob", bob)
    .addEdge(START, "alice")
    .compile({ checkpointer: new MemorySaver(), store });
  return { graph, store };
}

describe("a message for agents that hand off", () => {
  const rows = [
    ["while Alice works", ["human: one more thing", "ai> to_bob", "tool: transferred"]],
    ["while she hands off", ["ai> to_bob", "tool: transferred", "human: one more thing"]],
  ] as const;

  it.each(rows)("is in the thread once, and announced once (%s)", async (moment, middle) => {
    const { graph, store } = steeredTeam(moment);
    const events: unknown[] = [];
    const stream = await graph.stream(user("go"), {
      ...inThread(THREAD),
      streamMode: "custom",
      subgraphs: true,
    });
    for await (const [, event] of stream) events.push(event);
    const { values } = await graph.getState(inThread(THREAD));
    expect(pairedScript(values)).toEqual([
      "human: go",
      "ai> work",
      "tool: work done",
      ...middle,
      "ai: Bob is here",
    ]);
    const announced = events.filter((event) => Object(event).type === "message-steered");
    expect(announced).toHaveLength(1);
    expect(await store.search(INBOX)).toEqual([]);
  });
});
