/** An agent that is a node of another graph, without a memory of its own, and what its ended runs left there. */

import { ToolMessage } from "@langchain/core/messages";
import { Command, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { createAgentGraph, PairedMessagesValue } from "langgraph-tether";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { turns } from "../../support/async.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { deferred } from "../../support/deferred.js";
import { lines } from "../../support/lines.js";
import { type Answer, calls, FunctionModel } from "../../support/models.js";
import { script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

type Agent = ReturnType<typeof createAgentGraph>;

/** How the agent is in the graph. */
const WAYS = {
  "a node": (agent: Agent) => agent,
  "invoked by a node": (agent: Agent) => (state: object, config: object) =>
    agent.invoke(state as never, config),
  "invoked by a node with another message": (agent: Agent) => (_: object, config: object) =>
    agent.invoke(user("Go on.") as never, config),
};
type Way = keyof typeof WAYS;

const note = z.string().default("none");
const noting = makeTool("noting", async (_, { toolCall }) => {
  const messages = [new ToolMessage({ content: "noting done", tool_call_id: toolCall?.id ?? "" })];
  return new Command({ update: { note: "noted", messages } });
});

function open(way: Way, ...answers: Answer[]) {
  const probe = createProbe();
  const model = new FunctionModel((asked) => answers[asked.index]?.(asked) ?? "Better now?");
  const tools = [probe.fast, probe.heedful, noting];
  const agent = createAgentGraph({ model, tools, stateSchema: z.object({ note }) }) as unknown as Agent;
  const graph = new StateGraph(new StateSchema({ messages: PairedMessagesValue, note }))
    .addNode("agent", WAYS[way](agent) as never)
    .addEdge(START, "agent")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  const asked = () => script(model.requests.at(-1)?.messages ?? []);
  return { probe, model, graph, config, asked };
}

/** A run that is cancelled at a moment. */
async function cancelRun({ graph, config }: ReturnType<typeof open>, moment: Promise<void>, options: object) {
  const controller = new AbortController();
  const run = graph.invoke(user("Go."), { ...config, ...options, signal: controller.signal });
  run.catch(() => {});
  await moment;
  await turns();
  controller.abort();
  await expect(run).rejects.toThrow();
  await turns();
}

const closed =
  "tool! Tool call heedful (h): a new message came before it finished. It may or may not have taken effect.";
const batch = () => calls(["fast", {}, "f"], ["heedful", {}, "h"]);

describe.each(["a node", "invoked by a node"] as const)("an agent that is %s", (way) => {
  it.each(DURABILITIES)("has the results of its cancelled run: %s", async (durability) => {
    const opened = open(way, batch);
    const { graph, config, asked } = opened;
    await cancelRun(opened, opened.probe.hasBegun(2), { durability });
    await graph.invoke(user("Hello?"), { ...config, durability });
    const request = lines(`human: Go. | ai> fast heedful | tool: fast done - | ${closed} | human: Hello?`);
    expect(asked()).toEqual(request);
    const { messages } = (await graph.getState(config)).values;
    expect(script(messages)).toHaveLength(6);
    await graph.invoke(user("Bye."), { ...config, durability });
    expect(asked()).toHaveLength(7);
  });

  it.each(DURABILITIES)("has them after a cancel in its next request: %s", async (durability) => {
    const isAsked = deferred();
    const opened = open(
      way,
      () => calls(["noting", {}, "n"]),
      ({ signal }) => {
        isAsked.resolve();
        return new Promise((_resolve, reject) =>
          signal?.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    );
    const { graph, config, asked } = opened;
    await cancelRun(opened, isAsked.promise, { durability });
    const { note: value } = await graph.invoke(user("Hello?"), { ...config, durability });
    expect(asked()).toEqual(lines("human: Go. | ai> noting | tool: noting done | human: Hello?"));
    // With the durability `exit`, LangGraph saves what the tasks of the last superstep wrote, and not those before.
    expect(value).toBe(durability === "exit" ? "none" : "noted");
  });

  it("is not given what a finished run did", async () => {
    const { graph, config, asked } = open(way, () => calls(["fast", {}, "f"]));
    await graph.invoke(user("Go."), config);
    await graph.invoke(user("Hello?"), config);
    expect(asked()).toEqual(
      lines("human: Go. | ai> fast | tool: fast done - | ai: Better now? | human: Hello?"),
    );
  });
});

it("An agent that gets another message each time is not given what it did for an earlier one", async () => {
  const opened = open("invoked by a node with another message", batch);
  const { graph, config, asked } = opened;
  await cancelRun(opened, opened.probe.hasBegun(2), {});
  await graph.invoke(user("Hello?"), config);
  expect(asked()).toEqual(["human: Go on."]);
});
