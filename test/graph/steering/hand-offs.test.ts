import { ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import {
  Command,
  InMemoryStore,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { acting, INBOX, THREAD } from "../../support/steering.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

/** Two agents in one thread. Alice works, and hands the conversation to Bob with the messages that she has seen. */
function team(moment: "while Alice works" | "while she hands off") {
  const store = new InMemoryStore();
  const sender = createAgentGraph({ model: "offline:", store });
  const send = () => sender.steer(THREAD, "one more thing");
  const toBob = tool(
    async (_, { state, toolCallId }: ToolRuntime) => {
      if (moment === "while she hands off") await send();
      const { messages } = state as { messages: unknown[] };
      const result = new ToolMessage({ content: "transferred", tool_call_id: toolCallId });
      return new Command({ goto: "bob", graph: Command.PARENT, update: { messages: [...messages, result] } });
    },
    { name: "to_bob", description: "Hands off to Bob.", schema: z.object({}) },
  );
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
    const { graph, store } = team(moment);
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
