/**
 * The graphs that the server serves, with the same model: ours, LangChain's agent, and a plain graph of one node. Each is
 * compiled once, as in LangGraph's documentation.
 */

import { AIMessageChunk } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { createAgentGraph } from "../../src/index.js";
import { PlayedModel } from "../../test/support/models.js";

const WORDS = 20;

/** Streams the same words at once, so that what is measured is the graph and the server. */
class FastModel extends PlayedModel {
  protected override async play(): Promise<readonly AIMessageChunk[]> {
    return Array.from({ length: WORDS }, (_, index) => new AIMessageChunk({ content: `word${index} ` }));
  }
}

export const tether = createAgentGraph({ model: new FastModel() });

export const agent = createAgent({ model: new FastModel(), tools: [] }).graph;

const model = new FastModel();

export const plain = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({ messages: await model.invoke(messages) }))
  .addEdge(START, "model")
  .addEdge("model", END)
  .compile();
