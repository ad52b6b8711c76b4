/** `createAgentGraph` of this repository. */

import { createAgentGraph } from "../../src/index.js";
import type { AnyGraph } from "../adapter.js";
import { langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  {
    name: "tether-graph",
    title: "langgraph-tether",
    packages: ["langgraph-tether"],
    hasApprovals: true,
    summarises: true,
  },
  ({ model, tools, checkpointer, summary, idleMs, approvals, stateSchema }) =>
    createAgentGraph({
      model,
      tools,
      ...(approvals !== undefined && { requireApproval: approvals }),
      ...(stateSchema !== undefined && { stateSchema }),
      ...(checkpointer !== undefined && { checkpointer }),
      ...(idleMs !== undefined && { modelIdleTimeoutMs: idleMs }),
      ...(summary && { maxTokensBeforeSummary: summary.tokens, messagesToKeep: summary.keep }),
    } as never) as unknown as AnyGraph,
);
