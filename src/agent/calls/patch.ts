/** The patch node: closes the calls that an earlier run left without a result. */

import { type CheckpointTuple, Command, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { isAIMessage } from "../../history/call.js";
import { toJson } from "../../shared/json.js";
import type { AskedCall, ExaminedCall } from "../../threads/ended-runs/close-calls.js";
import { findLeftovers, findNestedLeftovers, type Leftovers } from "../../threads/ended-runs/leftovers.js";
import { asQuietUpdate } from "../../threads/ended-runs/put-back.js";
import { announce, recover } from "../../threads/ended-runs/recover.js";
import { type ToolTask, toolTasksOf, waitsForNode } from "../../threads/langgraph/read-checkpoints.js";
import { readChannels } from "../../threads/langgraph/run-host.js";
import { isKeyOf } from "../../threads/own-state.js";
import type { AgentState, AgentUpdate } from "../../threads/state.js";
import { isUsed, NO_USAGE } from "../../threads/usage.js";
import type { AgentPlan } from "../plan.js";
import { type ApprovalTask, questionWith } from "../run/approval-request.js";
import { type RunInputs, runOf } from "../run/handle.js";
import { hasSteered, noteRecovered } from "../run/steer.js";

type PatchCommand = Command<unknown, AgentUpdate, "approve">;
type PatchUpdate = AgentUpdate | PatchCommand | (AgentUpdate | PatchCommand)[];

/**
 * Makes the node that recovers what ended runs left and closes the calls that nobody will answer. Messages that clients
 * saw in an ended run return to their places. A call gets the result that its tool returned before its run ended, if it
 * can be found. Otherwise it gets a placeholder that says what is known. Calls of the open group stay open if the
 * caller must answer them. If they wait for a human, the question is repeated. This node runs no tool.
 */
export function createPatchNode({ callPolicy, settings }: AgentPlan) {
  return async function patch(state: AgentState, config: LangGraphRunnableConfig): Promise<PatchUpdate> {
    const { inputs } = runOf(config);
    const { runs, putsBack } = await leftoversFor(inputs, config);
    const asksNext = inputs.given === undefined && !inputs.endsAfterInput;
    const asksAtOnce = asksNext && !(runs.length > 0 && (await hasSteered(settings, state, config)));
    const isClosed = ({ call, remains, isPending }: ExaminedCall): boolean => {
      if (remains?.kind === "result") return true;
      // A response that a middleware set also follows the open group.
      if (!isPending || inputs.given !== undefined) return true;
      if (inputs.endsAfterInput) return remains?.kind === "question";
      return remains === undefined && !callPolicy.isHandedOver({ call });
    };
    const recovery = recover(
      state.messages,
      { runs },
      {
        putsBack,
        asksAtOnce,
        closed: (calls) => calls.filter(isClosed),
        isReduced: (key) => inputs.ownState.reducedKeys.has(key),
      },
    );
    announce(recovery, config, settings.onRepair);

    const { messages, usage, values, calls } = recovery;
    const update = {
      ...(messages.length > 0 && {
        messages: messages.map(asQuietUpdate),
        ...noteRecovered(messages, state, config),
      }),
      ...(isUsed(usage) && { threadUsage: usage }),
    };
    const question = asksNext ? pendingApprovals(calls.filter(({ isPending }) => isPending)) : undefined;
    const isFollowing = question !== undefined && questionWith(state.turn?.asked, question.tasks) === "";
    const whole =
      question === undefined
        ? update
        : new Command({ update, goto: [new Send("approve", { ...question, isFollowing })] });
    // Several writes to one key need several updates. LangGraph takes a list of them only if it contains a command.
    const others = values.map(
      ([key, value]) => new Command<unknown, AgentUpdate, "approve">({ update: { [key]: value } }),
    );
    return others.length === 0 ? whole : [whole, ...others];
  };
}

/**
 * What ended runs left. A graph that is a node without a memory of its own looks in its parent's thread, where those of
 * other histories can be too: only what belongs to a message that is still there is put back.
 */
async function leftoversFor(
  inputs: RunInputs,
  config: LangGraphRunnableConfig,
): Promise<{ readonly runs: readonly Leftovers[]; readonly putsBack: "all" | "in-place" }> {
  const isOwnKey = isKeyOf(inputs.ownState);
  const valueNow = (key: string): unknown => Object(readChannels(config, [key]))[key];
  const run = { input: undefined, isOwnKey, valueNow };
  const isBeforeModel = (checkpoint: CheckpointTuple) =>
    waitsForNode(checkpoint, "patch") || waitsForNode(checkpoint, "model");
  const nested = await findNestedLeftovers(config, run, isBeforeModel);
  if (nested === undefined) return { runs: await findLeftovers({ ...inputs, isOwnKey }), putsBack: "all" };
  // Without a memory, each run has its own budgets.
  return { runs: nested.map((left) => ({ ...left, usage: NO_USAGE })), putsBack: "in-place" };
}

/** The open group's questions that are still pending, even if the caller has sent results of other calls. */
export function pendingApprovals(
  pending: readonly Pick<ExaminedCall, "group" | "index" | "remains">[],
): ApprovalTask | undefined {
  // Pending calls are always in the open group.
  const head = pending[0]?.group.head;
  const known = head !== undefined && isAIMessage(head) ? toolTasksOf(head) : [];
  const tasks = pending.flatMap(({ index, remains }) => {
    if (remains?.kind !== "question") return [];
    const task = known[index];
    return task !== undefined && isAskedCall(task, remains.asked)
      ? [{ ...task, description: remains.asked.description }]
      : [];
  });
  return tasks.length === 0 ? undefined : { messageId: head?.id ?? "", tasks };
}

/** A client may have replaced the message since. Only calls that the model made are asked about. */
function isAskedCall({ call, args }: ToolTask, asked: AskedCall): boolean {
  return call.id === asked.id && call.name === asked.name && toJson(args) === toJson(asked.args);
}
