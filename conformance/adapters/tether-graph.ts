/** `createAgentGraph` of this repository. */

import { createAgentGraph } from "../../src/index.js";
import type { AnyGraph } from "../adapter.js";
import { langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  { name: "tether-graph", title: "langgraph-tether", packages: ["langgraph-tether"], summarises: true },
  ({ model, tools, checkpointer, summary, idleMs }) =>
    createAgentGraph({
      model,
      tools,
      ...(checkpointer !== undefined && { checkpointer }),
      ...(idleMs !== undefined && { modelIdleTimeoutMs: idleMs }),
      ...(summary && { maxTokensBeforeSummary: summary.tokens, messagesToKeep: summary.keep }),
    } as never) as unknown as AnyGraph,
);
