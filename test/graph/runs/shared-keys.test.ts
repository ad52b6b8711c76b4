/** Own keys of the state that an agent shares with a parent graph, with a hand-off, or with approvals. */

import { ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import {
  Command,
  MemorySaver,
  Overwrite,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentMiddleware, createAgentGraph, PairedMessagesValue } from "../../../src/index.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const own = { plan: z.string().optional(), count: z.number().default(0) };
const note = tool(
  ({ plan }, { state }: ToolRuntime<{ plan?: string }>) =>
    new Command({ update: { plan: `${state.plan ?? "none"}, ${plan}` } }),
  { name: "note", description: "note", schema: z.object({ plan: z.string() }) },
);
const toParent = tool(
  (_, { toolCallId }: ToolRuntime) =>
    new Command({
      graph: Command.PARENT,
      goto: "end",
      update: { verdict: "done", messages: [new ToolMessage({ content: "over", tool_call_id: toolCallId })] },
    }),
  { name: "to_parent", description: "hands off", schema: z.object({}) },
);
const agent = (...steps: readonly Step[]) =>
  createAgentGraph({ model: scripted(...steps), tools: [note, toParent], stateSchema: z.object(own) });

const parentOf = (child: ReturnType<typeof agent>) =>
  new StateGraph(
    new StateSchema({
      messages: PairedMessagesValue,
      verdict: z.string().optional(),
      ...own,
      other: z.any(),
    }),
  )
    .addNode("child", child as never, { ends: ["end"] })
    .addNode("end", () => ({}))
    .addEdge(START, "child")
    .compile({ checkpointer: new MemorySaver() });

describe("an agent in a graph with the same keys", () => {
  it("gets their values, and returns those that its tools wrote", async () => {
    const parent = parentOf(agent(calls(["note", { plan: "b" }]), "done"));
    const result = await parent.invoke(
      { ...user("hi"), plan: "a", count: 3, other: 1 } as never,
      inThread("1"),
    );
    expect(result).toMatchObject({ plan: "a, b", count: 3, other: 1 });
  });

  it("refuses a value of the parent that does not match", async () => {
    const parent = new StateGraph(new StateSchema({ messages: PairedMessagesValue, plan: z.any() }))
      .addNode("child", agent() as never)
      .addEdge(START, "child")
      .compile();
    await expect(parent.invoke({ ...user("hi"), plan: 7 } as never)).rejects.toThrow(
      "Expected `plan` to match `stateSchema`",
    );
  });

  it("can hand off with keys that only the parent has", async () => {
    const parent = parentOf(agent(calls(["to_parent"])));
    expect(await parent.invoke(user("hi") as never, inThread("1"))).toMatchObject({ verdict: "done" });
  });
});

it("Two tools of a batch can replace the same key", async () => {
  const replace = tool(({ list }) => new Command({ update: { list: new Overwrite(list) } }), {
    name: "replace",
    description: "replace",
    schema: z.object({ list: z.array(z.string()) }),
  });
  const list = z.array(z.string()).default(() => ["start"]);
  const replacing = createAgentGraph({
    model: scripted(calls(["replace", { list: ["a"] }], ["replace", { list: ["b"] }]), "done"),
    tools: [replace],
    stateSchema: new StateSchema({
      list: new ReducedValue(list, { reducer: (left, right) => [...left, ...right] }),
    }),
  });
  expect(await replacing.invoke(user("hi"))).toMatchObject({ list: ["b"] });
});

it("A call that was approved reads and writes them like any other", async () => {
  const asking = createAgentGraph({
    model: scripted(calls(["note", { plan: "b" }], ["note", { plan: "c" }]), "done"),
    tools: [note],
    stateSchema: z.object(own),
    requireApproval: ["note"],
    checkpointer: new MemorySaver(),
  });
  await asking.invoke({ ...user("hi"), plan: "a" }, inThread("1"));
  const resume = { decisions: [{ type: "approve" }, { type: "reject" }] };
  // A command can write own keys and decide at once.
  const result = await asking.invoke(new Command({ resume, update: { count: 5 } }), inThread("1"));
  expect(result).toMatchObject({ plan: "a, b", count: 5 });
  expect(pairedScript(result).slice(2)).toEqual([
    "tool: (no output)",
    "tool! Error: `note` was not approved, so it was not run.",
    "ai: done",
  ]);
});

it("They are kept if an agent middleware answers instead of the graph", async () => {
  const agent = createAgentGraph({
    model: scripted(calls(["note", { plan: "b" }])),
    tools: [note],
    stateSchema: z.object(own),
    requireApproval: ["note"],
    checkpointer: new MemorySaver(),
  });
  const middleware = [
    agentMiddleware(async (context) => {
      context.result = "later";
    }),
  ];
  await agent.invoke(user("hi"), inThread("1"));
  const resume = { decisions: [{ type: "approve" }] };
  const options = { ...inThread("1"), middleware };
  const answered = await agent.invoke(new Command({ resume, update: { plan: "a" } }), options);
  expect(answered).toMatchObject({ plan: "a", count: 0 });
  expect(pairedScript(answered).at(-1)).toBe("ai: later");
  expect(await agent.invoke({ ...user("and?"), count: 4 }, options)).toMatchObject({ plan: "a", count: 4 });
});
