/** Graphs without this library, to pin the behaviour of LangGraph that it relies on. */

import type { BaseMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";

type State = { messages: BaseMessage[] };
type Node = (state: State, config: LangGraphRunnableConfig) => unknown;

/** All nodes begin at the same time. */
export function parallelGraph(nodes: readonly Node[], checkpointer?: BaseCheckpointSaver) {
  const graph = new StateGraph(MessagesAnnotation);
  for (const [index, node] of nodes.entries()) {
    graph.addNode(`node${index}`, node as never);
    graph.addEdge(START, `node${index}` as never);
  }
  return graph.compile(checkpointer && { checkpointer });
}

export const oneNode = (node: Node, checkpointer?: BaseCheckpointSaver) =>
  parallelGraph([node], checkpointer);

/** A graph whose only node is this graph or function. @param options Those of `compile`. */
export const parentOf = (child: object, options: object = {}, state: object = MessagesAnnotation) =>
  new StateGraph(state as typeof MessagesAnnotation)
    .addNode("child", child as never)
    .addEdge(START, "child" as never)
    .compile(options);
