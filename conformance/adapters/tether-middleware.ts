/** LangChain's `createAgent` with the middleware of this repository, as docs/existing-agents.md has it. */

import { createAgent } from "langchain";
import { tetherMiddleware } from "../../src/langchain.js";
import type { AnyGraph } from "../adapter.js";
import { approvalMiddleware, langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  {
    name: "tether-middleware",
    title: "createAgent + tether",
    packages: ["langgraph-tether", "langchain"],
    hasApprovals: true,
    summarises: true,
  },
  ({ model, tools, checkpointer, summary, idleMs, approvals, stateSchema }) =>
    createAgent({
      model,
      tools,
      middleware: [
        ...approvalMiddleware(approvals),
        tetherMiddleware({
          ...(idleMs !== undefined && { modelIdleTimeoutMs: idleMs }),
          ...(summary && {
            summary: { maxTokensBeforeSummary: summary.tokens, messagesToKeep: summary.keep },
          }),
        }),
      ],
      ...(stateSchema !== undefined && { stateSchema }),
      ...(checkpointer !== undefined && { checkpointer }),
    } as never).graph as unknown as AnyGraph,
);
