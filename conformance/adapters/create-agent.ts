/** LangChain's `createAgent`: https://docs.langchain.com/oss/javascript/langchain/agents */

import { createAgent } from "langchain";
import type { AnyGraph } from "../adapter.js";
import { approvalMiddleware, langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  {
    name: "create-agent",
    title: "createAgent",
    packages: ["langchain"],
    hasApprovals: true,
    summarises: false,
  },
  ({ model, tools, checkpointer, approvals, stateSchema }) =>
    createAgent({
      model,
      tools,
      middleware: approvalMiddleware(approvals),
      ...(stateSchema !== undefined && { stateSchema }),
      ...(checkpointer !== undefined && { checkpointer }),
    } as never).graph as unknown as AnyGraph,
);
