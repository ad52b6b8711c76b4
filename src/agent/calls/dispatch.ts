/** What the model node writes: its response, the tasks for its calls, and their cost. */

import { type AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { END, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/message.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { endingRun } from "../../history/result.js";
import { isUserMessage } from "../../history/summary.js";
import { pickFields } from "../../shared/values.js";
import { isReplaySafe, notesStarts } from "../../threads/ended-runs/started-calls.js";
import { emitEvent } from "../../threads/events.js";
import { type ToolTask, toolTasksOf } from "../../threads/langgraph/read-checkpoints.js";
import { isSavedRun } from "../../threads/langgraph/run-host.js";
import type { AgentUpdate, Turn } from "../../threads/state.js";
import { missingCheckpointer } from "../../threads/stores.js";
import { addUsage, isUsed, type ThreadUsage } from "../../threads/usage.js";
import type { StateUpdate } from "../middleware/contexts.js";
import type { AgentPlan, ModelStep } from "../plan.js";
import { type ApprovalTask, questionWith } from "../run/approval-request.js";
import { nearBudgets, type Spending } from "../run/budgets.js";
import { runOf } from "../run/handle.js";
import { type ApprovalScene, approvalScene } from "../settings/approval-rules.js";
import type { LoopLimits } from "../settings/settings.js";
import { afterRequired, type ToolChoice } from "../settings/tools.js";

/** What the model node writes, and where the run goes next. */
export interface Dispatched {
  readonly update?: AgentUpdate;
  readonly goto: typeof END | "model" | "summarize" | Send<"tools" | "approve">[];
  /** How many calls got a refusal as their result. @default 0 */
  readonly refused?: number;
  /** Whether the run ends here. @default false */
  readonly isEnd?: boolean;
  /**
   * What chat middleware writes to keys that combine several values, and what late results write to own keys. Each
   * entry is a separate write.
   */
  readonly combined?: readonly Readonly<Record<string, unknown>>[];
}

interface Response {
  readonly response: {
    readonly toolChoice: ToolChoice;
    /** The names of the tools that the model was offered. Undefined means all tools of the graph. */
    readonly offered?: readonly string[] | undefined;
  };
  /** Results of calls that are not run, by call index. */
  readonly answered: ReadonlyMap<number, ToolMessage> | undefined;
  /** Whether the model is asked again after a required call, because the run ends with a structured response. */
  readonly hasFormat: boolean;
}

/**
 * Runs calls that need no approval at once, and asks one question about all calls that need a human.
 *
 * @param step The model step whose response has the calls.
 * @throws InvalidSettingError if a call needs a human and the waiting run is not saved.
 */
export async function dispatchCalls(
  message: AIMessage,
  turn: Turn,
  { plan: { tools, callPolicy }, state, settings, config }: ModelStep,
  { response: { toolChoice, offered }, answered = new Map(), hasFormat }: Response,
): Promise<Dispatched> {
  const isOffered = ({ call }: ToolTask) => offered === undefined || offered.includes(call.name);
  const tasks = toolTasksOf(message)
    .filter(({ index }) => !answered.has(index))
    .map((task) => (isOffered(task) ? task : { ...task, offered }));
  const own = tasks.filter((task) => !isOffered(task) || !callPolicy.isHandedOver(task));
  const toolCalls = turn.toolCalls + own.length;
  const ofThread = (state.threadUsage?.toolCalls ?? 0) + own.length;
  if (own.length > 0 && toolCalls > settings.maxToolCalls)
    return refuseForBudget(message, turn, "max-tool-calls");
  if (own.length > 0 && ofThread > settings.maxToolCallsPerThread)
    return refuseForBudget(message, turn, "max-tool-calls-per-thread");
  let made: ApprovalScene | undefined;
  const scene = () => {
    made ??= approvalScene(state, message, config);
    return made;
  };
  const mayBeServed = runOf(config).inputs.middleware.function.length > 0;
  const approvals = await Promise.all(own.map((task) => callPolicy.questionFor(task, scene, mayBeServed)));
  const waiting = approvals.filter((asked) => asked !== undefined);
  if (waiting.length > 0 && !isSavedRun(config)) throw missingCheckpointer();
  const free = own.filter((_, index) => approvals[index] === undefined);
  const questions = waiting.length === 0 ? turn.asked : questionWith(turn.asked, waiting);
  const question: ApprovalTask = {
    messageId: message.id ?? "",
    tasks: waiting,
    isFollowing: questions === "",
  };
  const sends = [
    ...free.map((task) => sendCall(task, tools, config)),
    ...(waiting.length > 0 ? [new Send("approve", question)] : []),
  ];
  const required = afterRequired(toolChoice);
  // A caller who supplies the missing results wants the model to continue.
  const follows = own.length < tasks.length || hasFormat ? "auto" : required;
  const isEnd = sends.length === 0;
  return {
    update: {
      messages: [message, ...answered.values()],
      turn: {
        ...turn,
        toolCalls,
        ...(questions !== undefined && { asked: questions }),
        ...(required !== undefined && { afterRequired: follows }),
      },
    },
    goto: isEnd ? END : sends,
    refused: answered.size,
    isEnd,
  };
}

export function sendCall(
  task: ToolTask,
  tools: AgentPlan["tools"],
  config: LangGraphRunnableConfig,
): Send<"tools", ToolTask> {
  const { checkpoints } = runOf(config).inputs;
  const isNoted = !isReplaySafe(tools.get(task.call.name)) && notesStarts(config, checkpoints);
  return new Send("tools", { ...task, isNoted });
}

/** The scope of each limit of tool calls. */
const SCOPES = { "max-tool-calls": "one turn", "max-tool-calls-per-thread": "this thread" } as const;

/** Refuses calls that would exceed the limit. The model then closes the turn. */
function refuseForBudget(message: AIMessage, turn: Turn, limit: keyof typeof SCOPES): Dispatched {
  const refusals = refuse(message, `Not run: the limit of tool calls for ${SCOPES[limit]} is reached.`);
  const update = { messages: [message, ...refusals], turn: { ...turn, closing: limit } };
  return { update, goto: "model", refused: refusals.length };
}

/** Results for calls that are not run, because a middleware ended the run with their message. */
export function refuseEnded(message: AIMessage): ToolMessage[] {
  return refuse(message, "Not run: the run was ended before this call.").map(endingRun);
}

function refuse(message: AIMessage, content: string): ToolMessage[] {
  return callsOf(message).map(
    ({ id, name }) => new ToolMessage({ content, tool_call_id: id, name, status: "error" }),
  );
}

/**
 * Adds a model request's cost to the counters of its turn and thread. Clients are warned when most of a budget is used.
 *
 * @param before The counters before the request.
 * @param tokens The tokens of the request and its response.
 */
export function charge(
  dispatched: Dispatched,
  before: Spending,
  tokens: number,
  limits: LoopLimits,
  config: LangGraphRunnableConfig,
): Dispatched {
  const { update = {} } = dispatched;
  const turn: Turn = update.turn ?? before.turn;
  const used: ThreadUsage = { tokens, toolCalls: turn.toolCalls - before.turn.toolCalls };
  const charged: Turn = { ...turn, ...(tokens > 0 && { tokens: (turn.tokens ?? 0) + tokens }) };
  const near = nearBudgets({ turn: charged, thread: addUsage(before.thread, used) }, limits);
  for (const budget of near) emitEvent(config, { type: "limit-near", ...budget });
  const warned = [...(turn.near ?? []), ...near.map(({ limit }) => limit)];
  return {
    ...dispatched,
    update: {
      ...update,
      turn: { ...charged, ...(warned.length > 0 && { near: warned }) },
      ...(isUsed(used) && { threadUsage: { ...used, run: runOf(config).inputs.tally.soFar() } }),
    },
  };
}

/**
 * The model node's write, with what chat middleware wrote. The turn continues even if a middleware wrote a user message,
 * which would otherwise begin a turn with new limits. A message from the inbox does begin one.
 *
 * @param reducedKeys The keys that combine the values written to them.
 */
export function mergeUpdates(
  dispatched: Dispatched,
  updates: readonly StateUpdate[],
  history: readonly BaseMessage[],
  reducedKeys: ReadonlySet<string>,
): Dispatched {
  if (updates.length === 0) return dispatched;
  const { update = {}, combined = [] } = dispatched;
  const written = messagesOfUpdate(update);
  const messagesOf = (isAfter: boolean) =>
    updates.flatMap((given) => (given.isAfter === isAfter ? given.messages : []));
  const messages = [...messagesOf(false), ...written, ...messagesOf(true)];
  const startedBy = reduceMessages(history, messages).messages.findLast(isUserMessage)?.id;
  const turn = written.some(isUserMessage) ? undefined : update.turn;
  const latest: object = Object.assign({}, ...updates.map(({ fields }) => fields));
  const reduced = updates.map(({ fields }) => pickFields(fields, (key) => reducedKeys.has(key)));
  return {
    ...dispatched,
    update: {
      ...pickFields(latest, (key) => !reducedKeys.has(key)),
      ...update,
      messages,
      ...(turn !== undefined && { turn: { ...turn, startedBy } }),
    },
    combined: [...combined, ...reduced.filter((fields) => Object.keys(fields).length > 0)],
  };
}

/** The model node writes only instances. */
export function messagesOfUpdate({ messages = [] }: AgentUpdate): BaseMessage[] {
  return messages as BaseMessage[];
}

/** A response with its agent's name. Other messages, and responses with a name, stay as they are. */
export function withName<Message extends BaseMessage>(message: Message, name: string | undefined): Message {
  if (name === undefined || !isAIMessage(message) || message.name !== undefined) return message;
  return copyMessage<BaseMessage>(message, { name }) as Message;
}
