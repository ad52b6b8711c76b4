/** LangChain's `createAgent`: https://docs.langchain.com/oss/javascript/langchain/agents */

import { createAgent } from "langchain";
import type { AnyGraph } from "../adapter.js";
import { langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  { name: "create-agent", title: "createAgent", packages: ["langchain"], summarises: false },
  ({ model, tools, checkpointer }) =>
    createAgent({ model, tools, ...(checkpointer !== undefined && { checkpointer }) } as never)
      .graph as unknown as AnyGraph,
);
