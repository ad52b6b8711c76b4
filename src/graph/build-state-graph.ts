import { END, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod/v4";
import { withHistoryChannel } from "../langgraph/channels/history-channel.js";
import { withQuietChannels } from "../langgraph/channels/quiet-channels.js";
import { withValueUntilNextStep } from "../langgraph/channels/response-channel.js";
import { route } from "../langgraph/route.js";
import { type ApproveNodeOptions, createApproveNode } from "../nodes/approval/approve.js";
import { createModelNode, type ModelNodeOptions } from "../nodes/model/model.js";
import { createPatchNode } from "../nodes/recovery/patch.js";
import { createPatchedRoute, createStartRoute } from "../nodes/routes.js";
import { agentStateSchema, publicStateWith } from "../nodes/run/agent-state.js";
import { firstRoute, step } from "../nodes/run/step.js";
import { createSummarizeNode, type SummarizeNodeOptions } from "../nodes/summary/summarize.js";
import { createToolsNode, type ToolsNodeOptions } from "../nodes/tools/tools.js";
import type { FormatPlan } from "../settings/format/read-response-format.js";
import type { OwnContext } from "../settings/schemas/own-context.js";
import type { OwnState } from "../settings/schemas/own-state.js";

/** What a user adds to the state and to the context. */
export interface OwnKeys {
  readonly ownState: OwnState;
  readonly ownContext: OwnContext;
}

/** How checkpoints store the messages. */
export interface StoredAs {
  readonly messagesChannel: "full" | "delta";
}

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
  options: ModelNodeOptions &
    ApproveNodeOptions &
    ToolsNodeOptions &
    SummarizeNodeOptions &
    OwnKeys &
    StoredAs,
) {
  const { ownState } = options;
  const graph = graphWith(options);
  // Before the nodes are added, because LangGraph compares the channels of their inputs with these.
  Object.assign(graph.channels, ownState.channels);
  const drawn = graph
    .addNode("patch", step(createPatchNode(options)), { input: agentStateSchema, ends: ["approve"] })
    .addNode("summarize", step(createSummarizeNode(options)), { input: agentStateSchema })
    .addNode("model", step(createModelNode(options)), {
      input: agentStateSchema,
      // Inline, because in a variable their type would be `string`, and so would the names of all nodes.
      ends: ["model", "summarize", "approve", "tools", END],
    })
    .addNode("approve", step(createApproveNode(options)), { ends: ["approve", "tools", "model"] })
    .addNode("tools", step(createToolsNode(options)))
    .addConditionalEdges(START, route(firstRoute(createStartRoute(options))), [
      "patch",
      "summarize",
      "model",
      END,
    ])
    .addConditionalEdges("patch", route(createPatchedRoute(options)), ["summarize", "model", END])
    .addEdge("summarize", "model")
    .addEdge("tools", "model");
  const quiet = withQuietChannels(drawn);
  return options.messagesChannel === "delta" ? withHistoryChannel(quiet) : quiet;
}

/** The type is that of a graph without a format and own keys, which are not known when the program is compiled. */
function graphWith({
  ownState,
  ownContext,
  formatPlan: plan,
}: OwnKeys & Pick<ModelNodeOptions, "formatPlan">) {
  const keys = publicStateWith(ownState);
  const state = plan === undefined ? keys : withStructuredResponse(keys, plan);
  const graph = new StateGraph({ state, context: ownContext.graphSchema });
  return plan === undefined ? graph : withValueUntilNextStep(graph, "structuredResponse");
}

type StateSchema = ReturnType<typeof publicStateWith>;

/** LangGraph keeps each state schema that it has seen, and a server makes a graph for each run. */
const schemasWithResponse = new WeakMap<StateSchema, Map<string, StateSchema>>();

/** The server shows the JSON schema of the state. Of several schemas the response has one. */
function withStructuredResponse(keys: StateSchema, { formats }: FormatPlan): StateSchema {
  const [only, ...others] = formats.map(({ jsonSchema: { $schema: _draft, ...schema } }) => schema);
  const shape = { ...(others.length === 0 ? only : { anyOf: [only, ...others] }) };
  const schemas = schemasWithResponse.get(keys) ?? new Map<string, StateSchema>();
  schemasWithResponse.set(keys, schemas);
  const name = JSON.stringify(shape);
  const schema = schemas.get(name) ?? keys.extend({ structuredResponse: z.unknown().meta(shape).optional() });
  schemas.set(name, schema);
  return schema;
}
