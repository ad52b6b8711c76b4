import { END, START, StateGraph } from "@langchain/langgraph";
import { agentStateSchema, publicStateSchema } from "./nodes/agent-state.js";
import { createModelNode, type ModelNodeOptions } from "./nodes/model.js";
import { patch } from "./nodes/patch.js";
import { routePatched, routeStart } from "./nodes/routes.js";
import { runContextSchema } from "./nodes/settings.js";
import { createToolsNode, type ToolsNodeOptions } from "./nodes/tools.js";

/**
 *     START ─► patch? ─► model ──► tools ──► model …        model ─► END
 *
 * A healthy turn goes from START to the model at once. The model node sends each call to a task of its own; the
 * plain edge behind the tools joins them again, and the gate in the model node sees all results.
 */
export function drawGraph(options: ModelNodeOptions & ToolsNodeOptions) {
  return new StateGraph({ state: publicStateSchema, context: runContextSchema })
    .addNode("patch", patch, { input: agentStateSchema })
    .addNode("model", createModelNode(options), { input: agentStateSchema, ends: ["model", "tools", END] })
    .addNode("tools", createToolsNode(options))
    .addConditionalEdges(START, routeStart, ["patch", "model", END])
    .addConditionalEdges("patch", routePatched, ["model", END])
    .addEdge("tools", "model");
}
