/** LangChain's `createAgent` with the middleware of this repository, as docs/existing-agents.md has it. */

import { createAgent } from "langchain";
import { tetherMiddleware } from "../../src/langchain.js";
import type { AnyGraph } from "../adapter.js";
import { langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  {
    name: "tether-middleware",
    title: "createAgent + tether",
    packages: ["langgraph-tether", "langchain"],
    summarises: true,
  },
  ({ model, tools, checkpointer, summary, idleMs }) =>
    createAgent({
      model,
      tools,
      middleware: [
        tetherMiddleware({
          ...(idleMs !== undefined && { modelIdleTimeoutMs: idleMs }),
          ...(summary && {
            summary: { maxTokensBeforeSummary: summary.tokens, messagesToKeep: summary.keep },
          }),
        }),
      ],
      ...(checkpointer !== undefined && { checkpointer }),
    } as never).graph as unknown as AnyGraph,
);
