/** LangGraph's `createReactAgent`. It is deprecated in favour of `createAgent`, and much used. */

import { createReactAgent } from "@langchain/langgraph/prebuilt";
import type { AnyGraph } from "../adapter.js";
import { langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  {
    name: "create-react-agent",
    title: "createReactAgent",
    packages: ["@langchain/langgraph"],
    summarises: false,
  },
  ({ model, tools, checkpointer }) =>
    createReactAgent({
      llm: model,
      tools,
      ...(checkpointer !== undefined && { checkpointSaver: checkpointer }),
    } as never) as unknown as AnyGraph,
);
