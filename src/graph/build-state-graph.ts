import { END, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { withValueUntilNextStep } from "../langgraph/response-channel.js";
import { type ApproveNodeOptions, createApproveNode } from "../nodes/approval/approve.js";
import { createModelNode, type ModelNodeOptions } from "../nodes/model/model.js";
import { createPatchNode } from "../nodes/recovery/patch.js";
import { createPatchedRoute, createStartRoute } from "../nodes/routes.js";
import { agentStateSchema, publicStateSchema } from "../nodes/run/agent-state.js";
import { firstRoute, step } from "../nodes/run/step.js";
import { createSummarizeNode, type SummarizeNodeOptions } from "../nodes/summary/summarize.js";
import { createToolsNode, type ToolsNodeOptions } from "../nodes/tools/tools.js";
import type { FormatPlan } from "../settings/format/read-response-format.js";
import { runContextSchema } from "../settings/run-context.js";

/**
 *     START ─► patch? ─► summarize? ─► model ──► tools ──► model …        model ─► END
 *                                        ├─► approve ─► tools
 *                                        └─► summarize ─► model
 *
 * A healthy turn goes from START to the model at once. The model node sends each tool call to a separate task of
 * `tools`. All calls that need a human go to one task of `approve`. The plain edge after `tools` joins the tasks, so
 * the gate in the model node sees all results.
 */
export function buildStateGraph(
  options: ModelNodeOptions & ApproveNodeOptions & ToolsNodeOptions & SummarizeNodeOptions,
) {
  return graphWith(options.formatPlan)
    .addNode("patch", step(createPatchNode(options)), { input: agentStateSchema, ends: ["approve"] })
    .addNode("summarize", step(createSummarizeNode(options)), { input: agentStateSchema })
    .addNode("model", step(createModelNode(options)), {
      input: agentStateSchema,
      // Inline, because in a variable their type would be `string`, and so would the names of all nodes.
      ends: ["model", "summarize", "approve", "tools", END],
    })
    .addNode("approve", step(createApproveNode(options)), { ends: ["approve", "tools", "model"] })
    .addNode("tools", step(createToolsNode(options)))
    .addConditionalEdges(START, firstRoute(createStartRoute(options)), ["patch", "summarize", "model", END])
    .addConditionalEdges("patch", createPatchedRoute(options), ["summarize", "model", END])
    .addEdge("summarize", "model")
    .addEdge("tools", "model");
}

/** The type is that of a graph without a format, because the format is not known when the program is compiled. */
function graphWith(plan: FormatPlan | undefined) {
  const state = plan === undefined ? publicStateSchema : withStructuredResponse(plan);
  const graph = new StateGraph({ state: state as typeof publicStateSchema, context: runContextSchema });
  return plan === undefined ? graph : withValueUntilNextStep(graph, "structuredResponse");
}

/** The server shows the JSON schema of the state. Of several schemas the response has one. */
function withStructuredResponse({ formats }: FormatPlan) {
  const [only, ...others] = formats.map(({ jsonSchema: { $schema: _draft, ...schema } }) => schema);
  const response = z.unknown().meta({ ...(others.length === 0 ? only : { anyOf: [only, ...others] }) });
  return publicStateSchema.extend({ structuredResponse: response.optional() });
}
