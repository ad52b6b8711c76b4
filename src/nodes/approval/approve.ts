import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { Command, interrupt, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { withArguments } from "../../history/calls/with-arguments.js";
import { callsOf, isAIMessage } from "../../history/messages/call.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { readHistory } from "../../langgraph/checkpoints/read-history.js";
import type { AgentUpdate } from "../run/agent-state.js";
import { runInputsOf, runRecordOf } from "../run/run-handle.js";
import { type CallOutcome, finalizeCall } from "../tools/finalize-call.js";
import type { ToolTask } from "../tools/tool-task.js";
import type { ApprovalTask, AskedTask } from "./approval-request.js";
import { approvalRequest, type Decision, readAnswer, refuseAnswer } from "./approval-request.js";
import type { CallPolicy } from "./call-policy.js";
import { checkEdits } from "./check-edits.js";

export interface ApproveNodeOptions {
  readonly tools: readonly StructuredToolInterface[];
  readonly callPolicy: Pick<CallPolicy, "ruleFor">;
}

type ApproveCommand = Command<unknown, AgentUpdate, "approve" | "tools" | "model">;

/**
 * Asks a human about the calls of one batch in one interrupt. If several interrupts were pending, LangGraph would
 * resume all of them with the one value that a client sends. Decided calls are handled at once. Calls without a decision are asked
 * about again in a new interrupt. If one decision is invalid, none is used, and all calls are asked about again.
 */
export function createApproveNode({ tools, callPolicy: { ruleFor } }: ApproveNodeOptions) {
  const toolsByName = new Map(tools.map((tool) => [tool.name, tool]));
  return async function approve(
    { messageId, tasks, problem }: ApprovalTask,
    config: LangGraphRunnableConfig,
  ): Promise<ApproveCommand> {
    const empty = runInputsOf(config)?.emptyAnswer;
    const refusal = empty === undefined ? problem : refuseAnswer(empty, tasks, ruleFor).problem;
    const given: unknown = interrupt(approvalRequest(tasks, refusal, ruleFor));
    const schemasFor = (name: string) => [toolsByName.get(name)?.schema, ruleFor(name).argsSchema];
    const answer = await checkEdits(readAnswer(given, tasks, ruleFor), tasks, schemasFor);
    if (answer.kind === "refused") {
      return new Command({ goto: [sendToApprove({ messageId, tasks, problem: answer.problem })] });
    }
    const decided = tasks.slice(0, answer.decisions.length).map((task, index) => ({
      task,
      decision: answer.decisions[index],
    }));
    const rest = tasks.slice(answer.decisions.length);
    const results = decided.flatMap(({ task, decision }) => resultOf(task, decision));
    runRecordOf(config)?.tally.addResults(results.length);
    const sends = [
      ...decided.flatMap(({ task, decision }) => sendsOf(task, decision)),
      ...(rest.length > 0 ? [sendToApprove({ messageId, tasks: rest })] : []),
    ];
    return new Command({
      update: { messages: [...editedMessage(messageId, decided, config), ...results] },
      goto: sends.length > 0 ? sends : "model",
    });
  };
}

interface Decided {
  readonly task: AskedTask;
  readonly decision: Decision | undefined;
}

function sendsOf(
  { description: _, ...task }: AskedTask,
  decision: Decision | undefined,
): Send<"tools", ToolTask>[] {
  if (decision?.type === "approve") return [sendToTools(task)];
  if (decision?.type === "edit") {
    const edited: ToolTask = { ...task, args: decision.edited_action.args };
    return [sendToTools(edited)];
  }
  return [];
}

function resultOf(task: ToolTask, decision: Decision | undefined): BaseMessage[] {
  const finalize = (outcome: CallOutcome) => [finalizeCall(task, outcome, false).result];
  if (decision?.type === "reject") return finalize({ kind: "declined", reason: decision.message });
  if (decision?.type === "respond") return finalize({ kind: "returned", value: decision.message });
  return [];
}

function sendToTools(task: ToolTask) {
  return new Send<"tools", ToolTask>("tools", task);
}

function sendToApprove(task: ApprovalTask) {
  return new Send<"approve", ApprovalTask>("approve", task);
}

/** The message with the edited arguments, so that the model reads each result beside the arguments that were used. */
function editedMessage(
  messageId: string,
  decided: readonly Decided[],
  config: LangGraphRunnableConfig,
): ReturnType<typeof toPlain>[] {
  const asked = readHistory(config)?.messages.findLast(({ id }) => id === messageId);
  if (asked === undefined || !isAIMessage(asked)) return [];
  const calls = callsOf(asked);
  const edits = decided.flatMap(({ task, decision }) => {
    // A client may have replaced the message since.
    const call = calls[task.index];
    const isSame = call?.id === task.call.id && call.name === task.call.name;
    return isSame && decision?.type === "edit" ? [[task.index, decision.edited_action.args] as const] : [];
  });
  const message = withArguments(asked, new Map(edits));
  // A plain object: LangGraph would show a message instance in the chat stream again.
  return message === asked ? [] : [toPlain(message)];
}
