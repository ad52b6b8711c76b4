/** The reducer as a `messages` channel has it: it publishes repairs instead of returning them. */

import { channel } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import { ReducedValue } from "@langchain/langgraph";
import type { Repair } from "../repair.js";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "./messages-schema.js";
import { reduceMessages } from "./reduce-messages.js";

/** The `node:diagnostics_channel` on which each {@link Repair} is published. */
export const REPAIR_CHANNEL = "langgraph-tether:repair";

const repairChannel = channel(REPAIR_CHANNEL);

/**
 * The reducer of a `messages` channel whose history stays paired, such as in an `Annotation.Root`. In a `StateSchema`,
 * use {@link PairedMessagesValue}, which also validates.
 *
 * Each repair is published on {@link REPAIR_CHANNEL}. LangGraph runs reducers again on reads and replays, so a repair can
 * be published several times, with the same `key`.
 *
 * @param history The messages so far; undefined counts as none.
 * @param update One message-like or several.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
 * import { pairedMessagesReducer } from "langgraph-tether";
 *
 * const State = Annotation.Root({
 *   messages: Annotation({ reducer: pairedMessagesReducer, default: () => [] }),
 * });
 * const graph = new StateGraph(State)
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
export function pairedMessagesReducer(history: unknown, update: unknown): BaseMessage[] {
  const { messages, repairs } = reduceMessages(history, update);
  publishRepairs(repairs);
  return messages;
}

export function publishRepairs(repairs: readonly Repair[]): void {
  if (repairChannel.hasSubscribers) for (const repair of repairs) repairChannel.publish(repair);
}

/** What all graphs' `messages` fields have in common. */
export const pairedField = {
  inputSchema: messagesUpdateSchema,
  reducer: pairedMessagesReducer,
  jsonSchemaExtra: messagesJsonSchemaExtra,
};

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
  pairedField,
);
