/** Agents in the teams of LangChain's own packages: under a supervisor, and in a swarm. */

import { MemorySaver } from "@langchain/langgraph";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createHandoffTool, createSwarm } from "@langchain/langgraph-swarm";
import { describe, expect, it } from "vitest";
import { type AgentGraph, type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

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
  const { fast, failing } = createProbe();
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

  it("a hand-off beside other calls keeps their results", async () => {
    const swarm = createSwarm({
      agents: asMembers(
        agent(
          "alice",
          [fast, failing, to("bob")],
          calls(["fast", { label: "1" }], ["transfer_to_bob"], ["failing"]),
        ),
        agent("bob", [to("alice")], "bob here"),
      ),
      defaultActiveAgent: "alice",
    }).compile({ checkpointer: new MemorySaver() });
    expect(pairedScript(await swarm.invoke(user("hi"), inThread("1")))).toEqual([
      "human: hi",
      "ai> fast transfer_to_bob failing",
      "tool: fast done 1",
      "tool: Successfully transferred to bob",
      "tool! Error: `failing` failed.",
      "ai: bob here",
    ]);
  });
});
