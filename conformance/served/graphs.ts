/** The implementations as LangGraph's server serves them. */

import { tools } from "../../test/fixtures/agents/tools.js";
import type { Adapter, AnyGraph } from "../adapter.js";
import { adapter as createAgentAdapter } from "../adapters/create-agent.js";
import { adapter as createAgentSummaryAdapter } from "../adapters/create-agent-summary.js";
import { adapter as createReactAgentAdapter } from "../adapters/create-react-agent.js";
import { adapter as deepagentsAdapter } from "../adapters/deepagents.js";
import { createModel } from "../adapters/langchain-agent.js";
import { adapter as tetherGraphAdapter } from "../adapters/tether-graph.js";
import { adapter as tetherMiddlewareAdapter } from "../adapters/tether-middleware.js";

function serve({ makeGraph }: Adapter): AnyGraph {
  const url = process.env["STRICT_URL"] ?? "";
  if (makeGraph === undefined) throw new Error("Expected an implementation that is a graph.");
  return makeGraph({ model: createModel({ host: "openai", url: `${url}/openai` }), tools });
}

export const tetherGraph = () => serve(tetherGraphAdapter);
export const tetherMiddleware = () => serve(tetherMiddlewareAdapter);
export const createAgent = () => serve(createAgentAdapter);
export const createAgentSummary = () => serve(createAgentSummaryAdapter);
export const deepagents = () => serve(deepagentsAdapter);
export const createReactAgent = () => serve(createReactAgentAdapter);
