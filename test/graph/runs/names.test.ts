import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import {
  Command,
  getCurrentTaskInput,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentEvent, type AgentGraph, agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { allOf } from "../../support/async.js";
import { EVENT_CHANNEL } from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { calls, FunctionModel } from "../../support/models.js";
import { oneNode } from "../../support/plain-graph.js";
import { scripted } from "../../support/scripted-model.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const callerOf = (child: AgentGraph, checkpointer?: MemorySaver) =>
  oneNode(async (_, config) => {
    const { messages } = await child.invoke(user("hi"), config as never);
    return { messages: messages.slice(-1) };
  }, checkpointer);

describe("the name of an agent", () => {
  it("is on its graph, on each response, and in the requests after it", async () => {
    const { fast } = createProbe();
    const model = scripted(calls(["fast"]), "done");
    const agent = createAgentGraph({ model, tools: [fast], name: "alice" });
    expect(agent.name).toBe("alice");
    const { messages } = await agent.invoke(user("hi"));
    expect(messages.map(({ type, name }) => [type, name])).toEqual([
      ["human", undefined],
      ["ai", "alice"],
      ["tool", "fast"],
      ["ai", "alice"],
    ]);
    expect(model.requests[1]?.messages.map(({ name }) => name)).toEqual([undefined, "alice", "fast"]);
  });

  it("is on a response that a middleware set", async () => {
    const refuse = agentMiddleware(async (context) => {
      context.result = "no";
    });
    const agent = createAgentGraph({ model: scripted(), middleware: [refuse], name: "alice" });
    expect((await agent.invoke(user("hi"))).messages.at(-1)).toMatchObject({ text: "no", name: "alice" });
  });

  it("is `agent` on the graph if there is none, and on no message", async () => {
    const agent = createAgentGraph({ model: scripted("done") });
    expect(agent.name).toBe("agent");
    expect((await agent.invoke(user("hi"))).messages.at(-1)?.name).toBeUndefined();
  });

  it.each(["", "my agent", "a".repeat(65), 7])("is not %j", (name) => {
    expect(() => createAgentGraph({ model: "offline:", name: name as string })).toThrow(
      "Expected `name` to be a string of 1 to 64 letters, digits, `_` and `-`",
    );
  });
});

describe("the memory of an agent inside another graph", () => {
  const twice = async (checkpointer: boolean | undefined) => {
    const model = scripted("one", "two");
    const parent = callerOf(createAgentGraph({ model, checkpointer }), new MemorySaver());
    for (const text of ["a", "b"]) await parent.invoke(user(text), inThread("1"));
    return model.requests.map(({ messages }) => messages.map(({ text }) => text));
  };

  it.each([
    ["is its own", true, [["hi"], ["hi", "one", "hi"]]],
    ["does not outlast a run", false, [["hi"], ["hi"]]],
    ["does not outlast a run", undefined, [["hi"], ["hi"]]],
  ])("%s with `checkpointer: %j`", async (_title, checkpointer, requests) => {
    expect(await twice(checkpointer)).toEqual(requests);
  });

  it("keeps the result of a tool that had finished when its run was cancelled", async () => {
    const probe = createProbe();
    const model = scripted(calls(["fast", { label: "1" }], ["heedful"]), "done");
    const child = createAgentGraph({ model, tools: [probe.fast, probe.heedful], checkpointer: true });
    const parent = callerOf(child, new MemorySaver());
    await abortRun(
      (signal) => parent.invoke(user("a"), { ...inThread("1"), signal }),
      () => probe.hasBegun(2),
    );
    const options = { ...inThread("1"), streamMode: "values", subgraphs: true } as const;
    const seen = await allOf<[unknown, { messages: BaseMessage[] }]>(parent.stream(user("b"), options));
    const longest = seen
      .map(([, values]) => values)
      .toSorted((a, b) => b.messages.length - a.messages.length)[0];
    expect(pairedScript(longest)).toEqual(
      lines(
        "human: hi | ai> fast heedful | tool: fast done 1 | tool! Tool call heedful… | human: hi | ai: done",
      ),
    );
  });

  it("that is missing is told by the first run of each graph, with the remedy", async () => {
    const missing = async (checkpointer: boolean | undefined, saver?: MemorySaver) => {
      const parent = callerOf(createAgentGraph({ model: scripted("1", "2"), checkpointer }), saver);
      const found: AgentEvent[] = [];
      for (const text of ["a", "b"])
        found.push(
          ...(await allOf<AgentEvent>(parent.stream(user(text), { ...inThread("1"), streamMode: "custom" }))),
        );
      return found.filter(({ type }) => type === "memory-missing");
    };
    expect(await missing(undefined, new MemorySaver())).toMatchObject([
      { type: "memory-missing", remedy: "checkpointer: true" },
    ]);
    expect(await missing(true, new MemorySaver())).toEqual([]);
    expect(await missing(false, new MemorySaver())).toEqual([]);
    expect(await missing(undefined)).toEqual([]);
  });

  it("is refused to the second of two tasks that are sent to one node, and nothing is paid", async () => {
    const sendBoth = (checkpointer: true | undefined) => {
      const paid: string[] = [];
      const pay = makeTool("pay", ({ to }) => `${paid.push(to)} paid`, z.object({ to: z.string() }));
      const model = new FunctionModel(({ messages }) => {
        const last = messages.at(-1);
        return last?.type === "tool" ? "Done." : calls(["pay", { to: last?.text }, `c-${last?.text}`]);
      });
      const payer = createAgentGraph({ model, tools: [pay], requireApproval: ["pay"], checkpointer });
      const parent = new StateGraph(MessagesAnnotation)
        .addNode("start", () => ({}))
        .addNode("payer", payer as never)
        .addEdge(START, "start")
        .addConditionalEdges("start", () => ["bob", "ann"].map((to) => new Send("payer", user(to))), [
          "payer" as never,
        ])
        .compile({ checkpointer: new MemorySaver() });
      return { parent, paid };
    };
    const shared = sendBoth(true);
    await expect(shared.parent.invoke(user("Pay."), inThread("1"))).rejects.toThrow(
      /Expected `checkpointer` to be left out for an agent that several tasks run at once/,
    );
    await shared.parent.invoke(null, inThread("1")).catch(() => {});
    expect(shared.paid).toEqual([]);

    const { parent, paid } = sendBoth(undefined);
    const events = await allOf<AgentEvent>(
      parent.stream(user("Pay."), { ...inThread("1"), streamMode: "custom", subgraphs: false }),
    );
    expect(events.filter(({ type }) => type === "memory-missing")).toEqual([]);
    const { tasks } = await parent.getState(inThread("1"));
    const asked = tasks.flatMap(({ interrupts }) =>
      interrupts.map(({ id }) => [id, { decisions: [{ type: "approve" }] }]),
    );
    await parent.invoke(new Command({ resume: Object.fromEntries(asked) }), inThread("1"));
    expect(paid).toEqual(["bob", "ann"]);
  });

  it("that is missing is not told in a tool, which asks its agent anew each time", async () => {
    const child = createAgentGraph({ model: scripted("done") });
    const ask = makeTool("ask", async () => (await child.invoke(user("hi"))).messages.at(-1)?.text);
    const model = scripted(calls(["ask"]), "done");
    const agent = createAgentGraph({ model, tools: [ask], checkpointer: new MemorySaver() });
    const types: unknown[] = [];
    const note = (event: unknown) => types.push(Reflect.get(Object(event), "type"));
    subscribe(EVENT_CHANNEL, note);
    await agent.invoke(user("a"), inThread("1")).finally(() => unsubscribe(EVENT_CHANNEL, note));
    expect(types).toEqual(["run-end", "run-end"]);
  });

  it("cannot be `true` outside of another graph", async () => {
    const agent = createAgentGraph({ model: scripted(), checkpointer: true });
    await expect(agent.invoke(user("hi"), inThread("1"))).rejects.toThrow(/checkpointer/);
  });
});

it("`getCurrentTaskInput()` is the state in a tool", async () => {
  const stateSchema = z.object({ plan: z.string().optional() });
  const look = makeTool("look", () => {
    const { messages, ...own } = getCurrentTaskInput<{ messages: BaseMessage[] }>();
    return JSON.stringify([messages.map(({ type }) => type), own]);
  });
  const agent = createAgentGraph({ model: scripted(calls(["look"]), "done"), tools: [look], stateSchema });
  const result = await agent.invoke({ ...user("hi"), plan: "go" });
  expect(pairedScript(result)[2]).toBe('tool: [["human","ai"],{"plan":"go"}]');
});
