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
import { agentThread } from "../../support/agent-thread.js";
import { allOf, turns } from "../../support/async.js";
import { lines } from "../../support/lines.js";
import { calls } from "../../support/models.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { acting, INBOX, THREAD } from "../../support/steering.js";
import { rowsOf } from "../../support/test-tools.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

type Tools = NonNullable<AgentGraphOptions["tools"]>;

const agent = (tools: Tools, steps: readonly Step[], options: Partial<AgentGraphOptions> = {}) =>
  createAgentGraph({ model: scripted(...steps), tools, ...options });

/** A tool that hands the conversation to another agent, with the messages that it has seen. */
const handOff = (name: string, act: () => unknown = () => {}) =>
  makeTool(`to_${name}`, async (_, { state, toolCallId }: ToolRuntime) => {
    await act();
    const { messages } = state as { messages: unknown[] };
    const result = new ToolMessage({ content: `transferred to ${name}`, tool_call_id: toolCallId });
    return new Command({ goto: name, graph: Command.PARENT, update: { messages: [...messages, result] } });
  });

/** A graph in which Alice begins. */
function team(state: unknown, agents: Readonly<Record<string, AgentGraph>>, store = new InMemoryStore()) {
  const names = Object.keys(agents);
  const graph = new StateGraph(state as typeof MessagesAnnotation);
  for (const name of names) graph.addNode(name, agents[name] as never, { ends: names });
  graph.addEdge(START, names[0] as never);
  return graph.compile({ checkpointer: new MemorySaver(), store });
}

const note = makeTool("note", (_, { toolCallId }: ToolRuntime) => {
  const result = new ToolMessage({ content: "noted", tool_call_id: toolCallId });
  return new Command({ update: { messages: [result, new HumanMessage("NOTE")] } });
});

interface Team {
  readonly alice: readonly Step[];
  readonly bob: readonly Step[];
  readonly lines: readonly unknown[];
  readonly asks?: string[];
  readonly runs?: readonly string[];
  readonly maxConcurrency?: number;
}

const TEAMS = rowsOf<[make: () => Team]>({
  "beside a parallel call leads to the other agent, and keeps the result of the call": [
    () => ({
      alice: [calls(["deaf", { label: "1" }, "work"], ["to_bob", {}, "go"], ["failing", {}, "bad"])],
      bob: ["bob is here"],
      lines: lines(
        "ai> deaf to_bob failing | tool: deaf done 1 | tool: transferred to bob",
        "tool! Error: `failing` failed. | ai: bob is here",
      ),
    }),
  ],
  "keeps the other messages of the calls beside it": [
    () => ({
      alice: [calls(["to_bob"], ["note"])],
      bob: ["bob is here"],
      lines: ["ai> to_bob note", "tool: transferred to bob", "tool: noted", "human: NOTE", "ai: bob is here"],
    }),
  ],
  "works with one call at a time, and there and back again": [
    () => ({
      alice: [calls(["to_bob"], ["fast", { label: "1" }]), "alice is back"],
      bob: [calls(["fast", { label: "2" }], ["to_alice"])],
      lines: lines(
        "ai> to_bob fast | tool: transferred to bob | tool: fast done 1 | ai> fast to_alice",
        "tool: fast done 2 | tool: transferred to alice | ai: alice is back",
      ),
      maxConcurrency: 1,
    }),
  ],
  "beside a call that waits for a human leads on, and the call is closed": [
    () => ({
      alice: [calls(["to_bob"], ["fast"])],
      bob: ["bob is here"],
      lines: lines(
        "ai> to_bob fast | tool: transferred to bob | tool! Tool call fast …no result was recorded…",
        "ai: bob is here",
      ),
      asks: ["fast"],
      runs: [],
    }),
  ],
});

describe.each([
  ["LangGraph's channel", MessagesAnnotation],
  ["the paired channel", new StateSchema({ messages: PairedMessagesValue })],
])("a hand-off, with %s", (_channel, state) => {
  it.each(TEAMS)("%s", async (_title, make) => {
    const { alice, bob, lines, asks = [], runs, ...limits } = make();
    const probe = createProbe();
    const tools = [probe.fast, probe.deaf, probe.failing, note];
    const graph = team(state, {
      alice: agent([...tools, handOff("bob")], alice, { requireApproval: asks }),
      bob: agent([...tools, handOff("alice")], bob),
    });
    const run = graph.invoke(user("hello") as never, { ...inThread("1"), ...limits });
    await turns();
    probe.release();
    expect(pairedScript(await run)).toEqual(["human: hello", ...lines]);
    if (runs !== undefined) expect(probe.runs).toEqual(runs);
  });
});

it("An agent that is handed a thread with an open call at its end answers, and closes the call", async () => {
  const { run, runs } = agentThread(["here I am"]);
  const messages = [
    new HumanMessage("go"),
    calls(["fast", {}, "1"], ["elsewhere", {}, "2"]),
    new ToolMessage({ content: "one", tool_call_id: "1" }),
  ];
  expect(await run({ messages })).toEqual(
    lines(
      "human: go | ai> fast elsewhere | tool: one",
      "tool! Tool call elsewhere (2): no result was recorded for it. It may or may not have taken effect.",
      "ai: here I am",
    ),
  );
  expect(runs).toEqual([]);
});

describe("under a supervisor", () => {
  const run = async (outputMode: "full_history" | "last_message") => {
    const math = agent([createProbe().fast], [calls(["fast", { label: "1" }]), "it is 4"], { name: "math" });
    const agents = [math, agent([], ["a rose"], { name: "poet" })];
    const llm = scripted(calls(["transfer_to_math"]), calls(["transfer_to_poet"]), "4, and a rose");
    const graph = createSupervisor({ agents, llm, outputMode }).compile({ checkpointer: new MemorySaver() });
    return graph.invoke(user("hi"), inThread("1"));
  };

  it("two agents get the conversation and give it back", async () => {
    const result = await run("last_message");
    expect(pairedScript(result)).toEqual(
      lines(
        "human: hi | ai> transfer_to_math | tool: Successfully transferred to math | ai: it is 4",
        "ai> transfer_back_to_supervisor | tool: Successfully transferred back to supervisor",
        "ai> transfer_to_poet | tool: Successfully transferred to poet | ai: a rose",
        "ai> transfer_back_to_supervisor | tool: Successfully transferred back to supervisor",
        "ai: 4, and a rose",
      ),
    );
    const names = pairedMessagesOf(result).flatMap(({ type, name }) => (type === "ai" ? [name] : []));
    expect(new Set(names)).toEqual(new Set(["supervisor", "math", "poet"]));
  });

  it("their whole work can be in the conversation", async () => {
    const lines = pairedScript(await run("full_history"));
    expect(lines.slice(3, 6)).toEqual(["ai> fast", "tool: fast done 1", "ai: it is 4"]);
  });
});

it("In a swarm, agents hand the conversation over, and the active one answers the next message", async () => {
  const to = (agentName: string) => createHandoffTool({ agentName });
  const steps = [calls(["fast", { label: "1" }]), calls(["transfer_to_bob"])];
  const agents = [
    agent([createProbe().fast, to("bob")], steps, { name: "alice" }),
    agent([to("alice")], ["bob here", "still bob"], { name: "bob" }),
  ];
  // The types of the swarm take no other channel than `MessagesAnnotation`.
  const swarm = createSwarm({ agents: agents as never, defaultActiveAgent: "alice" });
  const graph = swarm.compile({ checkpointer: new MemorySaver() });
  await graph.invoke(user("hi"), inThread("1"));
  const result = await graph.invoke(user("more"), inThread("1"));
  expect(pairedScript(result)).toEqual(
    lines(
      "human: hi | ai> fast | tool: fast done 1 | ai> transfer_to_bob",
      "tool: Successfully transferred to bob | ai: bob here | human: more | ai: still bob",
    ),
  );
  expect(result).toMatchObject({ activeAgent: "bob" });
});

it.each([
  ["while Alice works", ["human: one more thing", "ai> to_bob", "tool: transferred to bob"]],
  ["while she hands off", ["ai> to_bob", "tool: transferred to bob", "human: one more thing"]],
])("A message that comes %s is in the thread once, and announced once", async (moment, middle) => {
  const store = new InMemoryStore();
  const sender = createAgentGraph({ model: "offline:", store });
  const send = (now: string) => () => now === moment && sender.steer(THREAD, "one more thing");
  const tools = [acting("work", send("while Alice works")), handOff("bob", send("while she hands off"))];
  const agents = {
    alice: agent(tools, [calls(["work"]), calls(["to_bob"])]),
    bob: agent([], ["Bob is here"]),
  };
  const graph = team(MessagesAnnotation, agents, store);
  const options = { ...inThread(THREAD), streamMode: "custom", subgraphs: true } as const;
  const events = await allOf<[unknown, { type?: string }]>(graph.stream(user("go") as never, options));
  const { values } = await graph.getState(inThread(THREAD));
  const lines = ["human: go", "ai> work", "tool: work done", ...middle, "ai: Bob is here"];
  expect(pairedScript(values)).toEqual(lines);
  expect(events.filter(([, { type }]) => type === "message-steered")).toHaveLength(1);
  expect(await store.search(INBOX)).toEqual([]);
});
