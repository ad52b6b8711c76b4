/** LangGraph's `createReactAgent`. It is deprecated in favour of `createAgent`, and much used. */

import { MessagesValue, StateSchema } from "@langchain/langgraph";
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
  ({ model, tools, checkpointer, stateSchema }) =>
    createReactAgent({
      llm: model,
      tools,
      // Its schema replaces the whole state.
      ...(stateSchema !== undefined && {
        stateSchema: new StateSchema({ messages: MessagesValue, ...stateSchema.fields }),
      }),
      ...(checkpointer !== undefined && { checkpointSaver: checkpointer }),
    } as never) as unknown as AnyGraph,
);
