import type { BaseMessage } from "@langchain/core/messages";
import { ReducedValue } from "@langchain/langgraph";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "../reading/messages-schema.js";
import { pairedMessagesReducer } from "./paired-messages-reducer.js";

/**
 * A `messages` field whose history stays paired, in place of LangGraph's `MessagesValue`. It refuses an update
 * that is not a message or a list of messages with an `InvalidMessageError`.
 *
 * @example
 * ```ts
 * import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { END, START, StateGraph, StateSchema } from "@langchain/langgraph";
 * import { PairedMessagesValue } from "langgraph-tether";
 *
 * const graph = new StateGraph(new StateSchema({ messages: PairedMessagesValue }))
 *   .addNode("late", () => ({ messages: [new ToolMessage({ tool_call_id: "c1", content: "18 °C" })] }))
 *   .addEdge(START, "late")
 *   .addEdge("late", END)
 *   .compile();
 * const { messages } = await graph.invoke({
 *   messages: [
 *     new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *     new HumanMessage("Are you there?"),
 *   ],
 * });
 * console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human' ]
 * ```
 */
export const PairedMessagesValue: ReducedValue<BaseMessage[], MessagesUpdate> = new ReducedValue(
  messagesSchema.default(() => []),
  {
    inputSchema: messagesUpdateSchema,
    reducer: pairedMessagesReducer,
    jsonSchemaExtra: messagesJsonSchemaExtra,
  },
);
