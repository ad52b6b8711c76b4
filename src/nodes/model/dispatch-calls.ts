/** Decides what happens to the tool calls of a response: run, ask a human, leave to the caller, or refuse. */

import { type AIMessage, ToolMessage } from "@langchain/core/messages";
import { Command, END, Send } from "@langchain/langgraph";
import { callsOf } from "../../history/messages/call.js";
import { endingRun } from "../../history/messages/result.js";
import { afterRequired, type ToolChoice } from "../../settings/tool-choice.js";
import type { ApprovalTask } from "../approval/approval-request.js";
import type { ApprovalScene, CallPolicy } from "../approval/call-policy.js";
import type { AgentUpdate, Turn } from "../run/agent-state.js";
import { missingCheckpointer } from "../run/missing-service.js";
import { type ToolTask, toolTasksOf } from "../tools/tool-task.js";

export type ModelCommand = Command<
  unknown,
  AgentUpdate,
  "model" | "summarize" | "approve" | "tools" | typeof END
>;

export interface Dispatched {
  readonly command: ModelCommand;
  /** How many calls got a refusal as their result. */
  readonly refused: number;
  readonly isEnd: boolean;
  /** What chat middleware writes to keys that combine several values, and late results to own keys. Each is a write of its own. */
  readonly combined?: readonly Readonly<Record<string, unknown>>[];
}

export interface DispatchOptions {
  readonly policy: CallPolicy;
  readonly maxToolCalls: number;
  /** How many more calls may run in this thread. */
  readonly threadCallsLeft: number;
  readonly toolChoice: ToolChoice;
  /** The names of the tools that the model was offered. Undefined if these are all tools of the graph. */
  readonly offered: readonly string[] | undefined;
  /** Whether function middleware can answer calls of tools that the graph does not have. */
  readonly mayBeServed: boolean;
  /** Whether the run can wait for a human. */
  readonly isSaved: boolean;
  /** Results of calls that are not run, by the index of the call. */
  readonly answered?: ReadonlyMap<number, ToolMessage> | undefined;
  /** Whether the model is asked again after a required call, because the run ends with a structured response. */
  readonly hasFormat?: boolean;
  /** Contract: makes what the functions of approval rules see. */
  readonly scene: () => ApprovalScene;
}

/**
 * Runs calls without approval at once, and asks one question about all calls that need a human.
 *
 * @throws InvalidSettingError if a call needs a human, and the run is not saved while it waits.
 */
export async function dispatchCalls(
  message: AIMessage,
  turn: Turn,
  options: DispatchOptions,
): Promise<Dispatched> {
  const { policy, maxToolCalls, threadCallsLeft, toolChoice, isSaved, offered, mayBeServed, scene } = options;
  const { answered = new Map(), hasFormat = false } = options;
  const isOffered = ({ call }: ToolTask) => offered === undefined || offered.includes(call.name);
  const tasks = toolTasksOf(message)
    .filter(({ index }) => !answered.has(index))
    .map((task) => (isOffered(task) ? task : { ...task, offered }));
  const own = tasks.filter((task) => !isOffered(task) || !policy.isHandedOver(task));
  const toolCalls = turn.toolCalls + own.length;
  if (own.length > 0 && toolCalls > maxToolCalls) return refuseForBudget(message, turn, "max-tool-calls");
  if (own.length > 0 && own.length > threadCallsLeft)
    return refuseForBudget(message, turn, "max-tool-calls-per-thread");
  const questions = await Promise.all(own.map((task) => policy.questionFor(task, scene, mayBeServed)));
  const waiting = questions.filter((asked) => asked !== undefined);
  if (waiting.length > 0 && !isSaved) throw missingCheckpointer();
  const free = own.filter((_, index) => questions[index] === undefined);
  const question: ApprovalTask = { messageId: message.id ?? "", tasks: waiting };
  const sends = [
    ...free.map((task) => new Send("tools", task)),
    ...(waiting.length > 0 ? [new Send("approve", question)] : []),
  ];
  // A caller who supplies the missing results wants the model to continue.
  const follows = own.length < tasks.length || hasFormat ? "auto" : afterRequired(toolChoice);
  const next: Turn = {
    ...turn,
    toolCalls,
    ...(afterRequired(toolChoice) !== undefined && { afterRequired: follows }),
  };
  const isEnd = sends.length === 0;
  return {
    command: new Command({
      update: { messages: [message, ...answered.values()], turn: next },
      goto: isEnd ? END : sends,
    }),
    refused: answered.size,
    isEnd,
  };
}

/** The scope of each limit of tool calls. */
const SCOPES = { "max-tool-calls": "one turn", "max-tool-calls-per-thread": "this thread" } as const;

/** Calls that would exceed the limit get refusals as results, and the model closes the turn. */
function refuseForBudget(message: AIMessage, turn: Turn, limit: keyof typeof SCOPES): Dispatched {
  const refusals = refuse(message, `Not run: the limit of tool calls for ${SCOPES[limit]} is reached.`);
  const closed: Turn = { ...turn, closing: limit };
  return {
    command: new Command({ update: { messages: [message, ...refusals], turn: closed }, goto: "model" }),
    refused: refusals.length,
    isEnd: false,
  };
}

/** A middleware ended the run with a message that has tool calls. */
export function refuseAfterTermination(message: AIMessage, turn: Turn): Dispatched {
  const refusals = refuseEnded(message);
  return {
    command: new Command({ update: { messages: [message, ...refusals], turn }, goto: END }),
    refused: refusals.length,
    isEnd: true,
  };
}

export function refuseEnded(message: AIMessage): ToolMessage[] {
  return refuse(message, "Not run: the run was ended before this call.").map(endingRun);
}

function refuse(message: AIMessage, content: string): ToolMessage[] {
  return callsOf(message).map(
    ({ id, name }) => new ToolMessage({ content, tool_call_id: id, name, status: "error" }),
  );
}
