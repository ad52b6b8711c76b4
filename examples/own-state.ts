/**
 * An agent with keys of its own: a shopping list in the state, and the user in the context of each run.
 *
 *     npx tsx examples/own-state.ts
 */

import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import { createAgentGraph } from "langgraph-tether";
import { z } from "zod";

const items = z.array(z.string());
const stateSchema = new StateSchema({
  // Two calls of one response can add items at the same time. The reducer keeps both.
  list: new ReducedValue(items.default([]), {
    inputSchema: items,
    reducer: (list, added) => [...list, ...added],
  }),
  lastUser: z.string().optional(),
});
const contextSchema = z.object({ userId: z.string() });

type Runtime = ToolRuntime<typeof stateSchema.State, typeof contextSchema>;

const add = tool(
  ({ item }, { context }: Runtime) => new Command({ update: { list: [item], lastUser: context.userId } }),
  { name: "add", description: "Adds an item to the list.", schema: z.object({ item: z.string() }) },
);
const show = tool((_, { state }: Runtime) => state.list.join(", ") || "nothing", {
  name: "show",
  description: "Shows the list.",
  schema: z.object({}),
  // The result goes to the user as it is, without another response of the model.
  returnDirect: true,
});

const agent = createAgentGraph({
  model: process.env["MODEL"] ?? "offline:",
  tools: [add, show],
  stateSchema,
  contextSchema,
  checkpointer: new MemorySaver(),
});
const options = { configurable: { thread_id: "1" }, context: { userId: "ada" } };

const first = await agent.invoke(
  { messages: 'call add {"item": "milk"} and call add {"item": "tea"}', list: ["bread"] },
  options,
);
console.log(first.list, first.lastUser);

const second = await agent.invoke({ messages: "call show {}" }, options);
console.log(second.messages.at(-1)?.text);
