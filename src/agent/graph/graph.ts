/** The drawing of the graph: its nodes and routes. */

import { END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod/v4";
import { type UnansweredCall, unansweredCalls } from "../../history/open-calls.js";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import { interruptsOf } from "../../providers/failure/langgraph-signal.js";
import { isRecord, madeOnce } from "../../shared/values.js";
import { updatesIn } from "../../threads/commands.js";
import { mayBeKilled, tellKilledRun, usageOfGraph } from "../../threads/ended-runs/killed-run.js";
import { mayHaveLeftovers, mayLackResponse } from "../../threads/ended-runs/leftovers.js";
import { emitEvent } from "../../threads/events.js";
import { withHistoryChannel, withValueUntilNextStep } from "../../threads/langgraph/channels.js";
import { readState } from "../../threads/langgraph/read-checkpoints.js";
import { isNodeWithoutMemory } from "../../threads/langgraph/run-host.js";
import { route, superstepOf } from "../../threads/langgraph/wrappable-graph.js";
import type { RunCheckpoints } from "../../threads/saver/run-checkpoints.js";
import { type AgentState, agentStateSchema, publicStateWith } from "../../threads/state.js";
import { createApproveNode } from "../calls/approve.js";
import { createToolsNode } from "../calls/call.js";
import { createPatchNode } from "../calls/patch.js";
import { createModelNode } from "../model/step.js";
import { createSummarizeNode } from "../model/summary-node.js";
import type { AgentPlan } from "../plan.js";
import { type GivenMessages, type RunInputs, runOf } from "../run/handle.js";
import type { FormatPlan } from "../settings/response-format.js";

/**
 * ```text
 * START ─► patch? ─► model ──► tools ──► model …        model ─► END
 *                      ├─► approve ─► tools
 *                      └─► summarize ─► model
 * ```
 *
 * A healthy turn goes straight from START to the model. The model node sends each tool call to a separate task of
 * `tools`. All calls that need a human go to one task of `approve`. The plain edge after `tools` joins the tasks, so
 * the gate in the model node sees all results.
 */
export function buildStateGraph(plan: AgentPlan) {
  const graph = graphWith(plan);
  // LangGraph compares the channels of the nodes' inputs with these, so they come first.
  Object.assign(graph.channels, plan.ownState.channels);
  const drawn = graph
    .addNode("patch", step(createPatchNode(plan)), { input: agentStateSchema, ends: ["approve"] })
    .addNode("summarize", step(createSummarizeNode(plan)), { input: agentStateSchema })
    .addNode("model", step(createModelNode(plan)), {
      input: agentStateSchema,
      // Inline: a variable would have the type `string[]`, and lose the names of all nodes.
      ends: ["model", "summarize", "approve", "tools", END],
    })
    .addNode("approve", step(createApproveNode(plan)), { ends: ["approve", "tools", "model"] })
    .addNode("tools", step(createToolsNode(plan)))
    .addConditionalEdges(START, route(createStartRoute(plan)), ["patch", "model", END])
    .addConditionalEdges("patch", route(routePatched), ["model", END])
    .addEdge("summarize", "model")
    .addEdge("tools", "model");
  return plan.settings.messagesChannel === "delta" ? withHistoryChannel(drawn) : drawn;
}

/** The type omits the format and own keys, which the compiler does not know. */
function graphWith({ ownState, ownContext, formatPlan }: AgentPlan) {
  const keys = publicStateWith(ownState);
  const state = formatPlan === undefined ? keys : withStructuredResponse(keys, formatPlan);
  const graph = new StateGraph({ state, context: ownContext.graphSchema });
  return formatPlan === undefined ? graph : withValueUntilNextStep(graph, "structuredResponse");
}

type StateSchema = ReturnType<typeof publicStateWith>;

/** LangGraph keeps each state schema that it has seen, and a server makes a graph for each run. */
const schemasWithResponse = new WeakMap<StateSchema, Map<string, StateSchema>>();

/** The server shows the JSON schema of the state. */
function withStructuredResponse(keys: StateSchema, { format }: FormatPlan): StateSchema {
  const { $schema: _draft, ...shape } = format.jsonSchema;
  const schemas = madeOnce(schemasWithResponse, keys, () => new Map<string, StateSchema>());
  return madeOnce(schemas, JSON.stringify(shape), () =>
    keys.extend({ structuredResponse: z.unknown().meta(shape).optional() }),
  );
}

/*
 * The routes from START and from the patch node. Both see the complete state.
 */

type Next = "patch" | "model" | typeof END;

/**
 * Makes the route from START. A healthy turn goes straight to the model. The patch node comes first if calls must be
 * closed, or if an ended run may have left something. The run ends if the open group waits for the caller's results. A
 * run can end here, so its record also begins here.
 */
function createStartRoute({ callPolicy }: AgentPlan) {
  return function routeStart(state: AgentState, config: LangGraphRunnableConfig): Next {
    const { inputs, record } = runOf(config);
    record.beginStep(undefined, state);
    emitInputEvents(config);
    const { messages } = inSoundForm(state);
    const { dangling, pending } = unansweredCalls(messages);
    if (dangling.length > 0 || mayHaveLeftovers(inputs.checkpoints)) return "patch";
    // Only the parent's thread tells what such a node's ended runs left, and patch reads it.
    const mayLackRun = pending.length === 0 && mayLackResponse(messages);
    if (mayLackRun && isNodeWithoutMemory(config)) return "patch";
    if (inputs.given !== undefined) return areReplaced(pending, inputs.given) ? "model" : "patch";
    if (inputs.endsAfterInput) return END;
    if (pending.length === 0) return "model";
    return pending.every(callPolicy.isHandedOver) ? END : "patch";
  };
}

/**
 * Whether the given messages remove the pending calls. Such calls need no placeholder, which a client would keep
 * showing.
 */
function areReplaced(pending: readonly UnansweredCall[], { messages }: GivenMessages): boolean {
  const removed = new Set(messages.flatMap(({ type, id }) => (type === "remove" ? [id] : [])));
  return pending.every(({ group }) => removed.has(group.head.id));
}

function routePatched(state: AgentState, config: LangGraphRunnableConfig): Exclude<Next, "patch"> {
  const { inputs } = runOf(config);
  if (inputs.given !== undefined) return "model";
  const isEnd = inputs.endsAfterInput || unansweredCalls(state.messages).pending.length > 0;
  return isEnd ? END : "model";
}

/*
 * Keeps the run's record, so that nodes need not do it themselves.
 */

/** Wraps a node: records its superstep, the messages that it writes, and its interrupts. */
function step<Input, NodeConfig extends LangGraphRunnableConfig, Output>(
  node: (input: Input, config: NodeConfig) => Promise<Output>,
): (input: Input, config: NodeConfig) => Promise<Output> {
  return async (input, config) => {
    const { inputs, record } = runOf(config);
    emitInputEvents(config);
    // Most runs continue in the same turn of the event loop.
    const before = checkpointsBefore(inputs);
    if (mayBeKilled(before, usageOfGraph)) {
      record.killedTold ??= tellKilledRun(before, usageOfGraph, config);
      await record.killedTold;
    }
    record.beginStep(superstepOf(config), readState(config, inputs.ownState.keys));
    try {
      const output = await node(inSoundForm(input), config);
      record.addWrites(updatesIn(output));
      return output;
    } catch (error) {
      record.interrupts.push(...interruptsOf(error));
      throw error;
    }
  };
}

/** The checkpoints before the run, from the latest one, also if the run begins another branch. */
function checkpointsBefore({ checkpoints, latest }: RunInputs): RunCheckpoints {
  return latest === undefined ? checkpoints : { ...checkpoints, begunOn: latest, isFork: false };
}

/**
 * A run that writes nothing before its first node reads the state as another agent or an older version stored it,
 * without the reducer.
 */
function inSoundForm<Input>(input: Input): Input {
  const stored = isRecord(input) ? input["messages"] : undefined;
  if (!Array.isArray(stored)) return input;
  const messages = normalizeHistory(stored);
  return messages === stored ? input : { ...input, messages };
}

/** A resumed run has no route, and a run that ends at once has no node. */
function emitInputEvents(config: LangGraphRunnableConfig): void {
  for (const event of runOf(config).record.inputEvents.splice(0)) emitEvent(config, event);
}
