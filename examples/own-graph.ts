/**
 * A graph of your own: the field keeps each result with its call, and the line in the node gives the model a sound input.
 *
 *     npx tsx examples/own-graph.ts
 */

import { tool } from "@langchain/core/tools";
import { MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { createModel, PairedMessagesValue, toModelInput } from "langgraph-tether";
import { z } from "zod";

const sky = tool(({ city }) => `${city}: clear sky`, {
  name: "sky",
  description: "Looks at the sky over a city.",
  schema: z.object({ city: z.string() }),
});
const model = await createModel(process.env["MODEL"] ?? "offline:");
const bound = model.bindTools?.([sky]) ?? model;
const systemPrompt = "Be brief.";

const graph = new StateGraph(new StateSchema({ messages: PairedMessagesValue }))
  .addNode("model", async ({ messages }, config) => {
    const input = toModelInput(messages, { model, systemPrompt, maxTokens: 100_000 });
    return { messages: [await bound.invoke(input, config)] };
  })
  .addNode("tools", new ToolNode([sky]))
  .addEdge(START, "model")
  .addConditionalEdges("model", toolsCondition, ["tools", "__end__"])
  .addEdge("tools", "model")
  .compile({ checkpointer: new MemorySaver() });
const thread = { configurable: { thread_id: "1" } };

// A run that died here has left a call without a result.
const call = { id: "call_1", name: "sky", args: { city: "Rome" } };
await graph.updateState(
  thread,
  {
    messages: [
      { type: "human", content: "How is the sky over Rome?" },
      { type: "ai", content: "", tool_calls: [call] },
    ],
  },
  "tools",
);

await graph.invoke({ messages: [{ role: "user", content: 'call sky {"city": "Paris"}' }] }, thread);
// Its result comes late, and takes its place.
await graph.updateState(thread, {
  messages: [{ type: "tool", tool_call_id: "call_1", content: "Rome: clear sky" }],
});
const { values } = await graph.getState(thread);
for (const { type, text } of values.messages) console.log(`${type}: ${text}`);
