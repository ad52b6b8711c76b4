/** All implementations, in the order of the table. */

import type { Adapter } from "./adapter.js";
import { adapter as createAgent } from "./adapters/create-agent.js";
import { adapter as createAgentSummary } from "./adapters/create-agent-summary.js";
import { adapter as createReactAgent } from "./adapters/create-react-agent.js";
import { adapter as deepagents } from "./adapters/deepagents.js";
import { adapter as mastra } from "./adapters/mastra.js";
import { adapter as openaiAgents } from "./adapters/openai-agents.js";
import { adapter as piAgent } from "./adapters/pi-agent.js";
import { adapter as tetherGraph } from "./adapters/tether-graph.js";
import { adapter as tetherMiddleware } from "./adapters/tether-middleware.js";
import { adapter as vercelAi } from "./adapters/vercel-ai.js";

export const ADAPTERS: readonly Adapter[] = [
  tetherGraph,
  tetherMiddleware,
  createAgent,
  createAgentSummary,
  deepagents,
  createReactAgent,
  vercelAi,
  mastra,
  openaiAgents,
  piAgent,
];
