/** The implementations as LangGraph's server serves them, with tools that log their runs to `TOOL_LOG`. */

import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { Adapter, AnyGraph } from "../adapter.js";
import { adapter as createAgentAdapter } from "../adapters/create-agent.js";
import { adapter as createAgentSummaryAdapter } from "../adapters/create-agent-summary.js";
import { adapter as createReactAgentAdapter } from "../adapters/create-react-agent.js";
import { adapter as deepagentsAdapter } from "../adapters/deepagents.js";
import { createModel } from "../adapters/langchain-agent.js";
import { adapter as tetherGraphAdapter } from "../adapters/tether-graph.js";
import { adapter as tetherMiddlewareAdapter } from "../adapters/tether-middleware.js";

const schema = z.object({ label: z.string(), ms: z.number().default(0) });

function createTool(name: string, wait: (ms: number, signal?: AbortSignal) => Promise<unknown>) {
  return tool(
    async ({ label, ms }, { signal }) => {
      log(`begin ${name}:${label}`);
      await wait(ms, signal);
      log(`end ${name}:${label}`);
      return `${name} done ${label}`;
    },
    { name, description: name, schema },
  );
}

const log = (line: string) => appendFileSync(process.env["TOOL_LOG"] ?? "", `${line}\n`);

const tools = [
  /** Ends when its run is aborted. */
  createTool("heedful", (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal })),
  /** Goes on after its run is aborted. */
  createTool("deaf", (ms) => delay(ms)),
];

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
