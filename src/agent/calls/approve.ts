/** The approve node: asks a human about the calls of a batch. */

import type { BaseMessage } from "@langchain/core/messages";
import { Command, interrupt, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../../history/call.js";
import { withArguments } from "../../history/change-calls.js";
import { toPlain } from "../../history/message.js";
import { isRecord } from "../../shared/values.js";
import { readState, type ToolTask } from "../../threads/langgraph/read-checkpoints.js";
import { isNodeWithoutMemory, isOutermost, questionsNamedIn } from "../../threads/langgraph/run-host.js";
import type { AgentUpdate } from "../../threads/state.js";
import type { AgentPlan } from "../plan.js";
import {
  type ApprovalTask,
  approvalRequest,
  asUnnamed,
  type DecidedTask,
  expectedDecisions,
  readDecisions,
} from "../run/approval-request.js";
import { runOf } from "../run/handle.js";
import { sendCall } from "./dispatch.js";
import { type CallOutcome, finalizeCall } from "./result.js";

type ApproveCommand = Command<unknown, AgentUpdate, "approve" | "tools" | "model">;

/**
 * Asks a human about one batch's calls in a single interrupt. LangGraph would resume several pending interrupts with
 * the one value that a client sends. Decided calls are handled at once, and a new interrupt asks about the others. One
 * invalid decision voids all of them, and the question is repeated.
 */
export function createApproveNode({ tools, settings, callPolicy: { ruleFor } }: AgentPlan) {
  return async function approve(
    { messageId, tasks, problem, isFollowing }: ApprovalTask,
    config: LangGraphRunnableConfig,
  ): Promise<ApproveCommand> {
    const { inputs } = runOf(config);
    const { emptyResponse: empty } = inputs;
    const refusal = empty === undefined ? problem : `${empty}. ${expectedDecisions(tasks, ruleFor)}`;
    const given: unknown = interrupt(approvalRequest(tasks, refusal, ruleFor));
    // The run of an outer graph is not checked, so its answer has no mark. A graph without a memory does not know what it
    // has asked.
    const isInside = !isOutermost(config) && questionsNamedIn(config).length === 0;
    const mayFollow = isFollowing === true || isNodeWithoutMemory(config);
    const mustBeNamed = mayFollow && !settings.acceptUnnamedDecisions;
    const schemaOf = (name: string) => tools.get(name)?.schema;
    const received = isInside && isRecord(given) ? asUnnamed(given) : given;
    const isRepeated = (id: string) =>
      callsWithId(id, config) > tasks.filter(({ call }) => call.id === id).length;
    const answer = await readDecisions(received, tasks, ruleFor, schemaOf, { mustBeNamed, isRepeated });
    const askAgain = (asked: Omit<ApprovalTask, "messageId">) => new Send("approve", { messageId, ...asked });
    if (answer.kind === "refused")
      return new Command({ goto: [askAgain({ tasks, problem: answer.problem, isFollowing })] });
    const { decided, rest } = answer;
    const results: BaseMessage[] = [];
    const sends: Send<"tools" | "approve", ToolTask | ApprovalTask>[] = [];
    const answerWith = (task: ToolTask, outcome: CallOutcome) =>
      results.push(finalizeCall(task, outcome, settings).result);
    for (const { task, decision } of decided) {
      const { description: _, ...plain } = task;
      if (decision.type === "approve") sends.push(sendCall(plain, tools, config));
      else if (decision.type === "edit")
        sends.push(sendCall({ ...plain, args: decision.edited_action.args }, tools, config));
      else if (decision.type === "reject") answerWith(task, { kind: "declined", reason: decision.message });
      else answerWith(task, { kind: "returned", value: decision.message });
    }
    if (rest.length > 0) sends.push(askAgain({ tasks: rest, isFollowing: true }));
    inputs.tally.addResults(results.length);
    return new Command({
      update: { messages: [...editedMessage(messageId, decided, config), ...results] },
      goto: sends.length > 0 ? sends : "model",
    });
  };
}

/** How many calls of the thread have this id. Some models use the same ids in each response. */
function callsWithId(id: string, config: LangGraphRunnableConfig): number {
  const messages = readState(config)?.messages ?? [];
  return messages.flatMap(callsOf).filter((call) => call.id === id).length;
}

/** The message with the edited arguments, so that the model reads each result beside the arguments that were used. */
function editedMessage(
  messageId: string,
  decided: readonly DecidedTask[],
  config: LangGraphRunnableConfig,
): ReturnType<typeof toPlain>[] {
  const asked = readState(config)?.messages.findLast(({ id }) => id === messageId);
  if (asked === undefined || !isAIMessage(asked)) return [];
  const calls = callsOf(asked);
  const edits = decided.flatMap(({ task, decision }) => {
    // A client may have replaced the message since.
    const call = calls[task.index];
    const isSame = call?.id === task.call.id && call.name === task.call.name;
    return isSame && decision.type === "edit" ? [[task.index, decision.edited_action.args] as const] : [];
  });
  const message = withArguments(asked, new Map(edits));
  // A plain object: LangGraph would show a message instance in the chat stream again.
  return message === asked ? [] : [toPlain(message)];
}
