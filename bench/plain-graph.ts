/** The least agent that LangGraph can make: a node for the model, and one for its tool. */

import { type AIMessage, ToolMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { InstantModel, look } from "./instant-model.js";

export function createPlainGraph(model: InstantModel, tool: typeof look, checkpointer?: BaseCheckpointSaver) {
  const bound = model.bindTools([tool]);
  const callsOf = (message: unknown) => (message as AIMessage).tool_calls ?? [];
  return new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: await bound.invoke(messages) }))
    .addNode("tools", async ({ messages }) => ({
      messages: await Promise.all(
        callsOf(messages.at(-1)).map(
          async ({ id = "", args }) =>
            new ToolMessage({ content: await tool.invoke(args as { city: string }), tool_call_id: id }),
        ),
      ),
    }))
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) => (callsOf(messages.at(-1)).length > 0 ? "tools" : END))
    .addEdge("tools", "model")
    .compile(checkpointer && { checkpointer });
}
