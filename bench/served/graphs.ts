/** Two served graphs with the same model: the agent of this library, and a plain graph with one node. */

import { AIMessageChunk } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createAgentGraph } from "../../src/index.js";
import { PlayedModel } from "../../test/support/played-model.js";

const WORDS = 20;

/** Streams the same words at once, so that what is measured is the graph and the server. */
class FastModel extends PlayedModel {
  protected override async play(): Promise<readonly AIMessageChunk[]> {
    return Array.from({ length: WORDS }, (_, index) => new AIMessageChunk({ content: `word${index} ` }));
  }
}

export const tether = () => createAgentGraph({ model: new FastModel() });

export const plain = () =>
  new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: await new FastModel().invoke(messages) }))
    .addEdge(START, "model")
    .addEdge("model", END)
    .compile();
