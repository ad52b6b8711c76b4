/** `createAgent` with `summarizationMiddleware`: https://docs.langchain.com/oss/javascript/langchain/short-term-memory */

import { createAgent, summarizationMiddleware } from "langchain";
import type { AnyGraph } from "../adapter.js";
import { approvalMiddleware, langchainAdapter } from "./langchain-agent.js";

/** The values of LangChain's own example. */
const DEFAULT = { tokens: 4000, keep: 20 };

export const adapter = langchainAdapter(
  {
    name: "create-agent-summary",
    title: "createAgent + summaries",
    packages: ["langchain"],
    hasApprovals: true,
    summarises: true,
  },
  ({ model, tools, checkpointer, summary: { tokens, keep } = DEFAULT, approvals, stateSchema }) =>
    createAgent({
      model,
      tools,
      middleware: [
        ...approvalMiddleware(approvals),
        summarizationMiddleware({ model, trigger: { tokens }, keep: { messages: keep } } as never),
      ],
      ...(stateSchema !== undefined && { stateSchema }),
      ...(checkpointer !== undefined && { checkpointer }),
    } as never).graph as unknown as AnyGraph,
);
