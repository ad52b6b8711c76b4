/** The model node: one step of the model, from the messages that came meanwhile to the calls that are sent. */

import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { isBlankMessage, withDistinctCallIds, withoutCalls } from "../history/change-calls.js";
import { groupMessages } from "../history/group.js";
import { withoutMarks } from "../history/marks.js";
import { copyMessage, deriveId } from "../history/message.js";
import { unansweredCalls } from "../history/open-calls.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { endsRun, isResult, lastResults } from "../history/result.js";
import { emitEvent } from "../threads/events.js";
import { retractMessages, takeBack } from "../threads/langgraph/channels.js";
import { readOwnValues } from "../threads/own-state.js";
import {
  type AgentState,
  type AgentUpdate,
  type ClosingReason,
  type Turn,
  turnOf,
} from "../threads/state.js";
import { shouldSummarize } from "../threads/summary.js";
import { NO_USAGE } from "../threads/usage.js";
import { type ModelAnswer, requestOf } from "./ask-model.js";
import {
  isThreadUsedUp,
  type Spending,
  STEPS_OF_A_ROUND,
  STEPS_OF_A_SUMMARY,
  stepsLeft,
  usedUpBudget,
} from "./budgets.js";
import {
  charge,
  type Dispatched,
  dispatchCalls,
  mergeUpdates,
  messagesIn,
  refuseEnded,
  withFreshId,
  withName,
} from "./dispatch-calls.js";
import { type AnswerInFormat, askInFormat, settleResponse, tellIfMissing } from "./format/ask-in-format.js";
import { type TakenMessages, takeMessages } from "./inbox.js";
import type { GivenMessages } from "./middleware/run.js";
import { positionIn, withPosition } from "./models.js";
import type { AgentPlan } from "./plan.js";
import { noteFailure, runOf } from "./run-handle.js";
import { type RunContext, settingsInRun } from "./settings/run-context.js";
import type { LoopLimits, Settings } from "./settings/settings.js";

type Config = LangGraphRunnableConfig<RunContext>;
type ModelCommand = Command<unknown, AgentUpdate, "model" | "summarize" | "approve" | "tools" | typeof END>;

export function createModelNode(plan: AgentPlan) {
  return async function model(state: AgentState, config: Config): Promise<ModelCommand | ModelCommand[]> {
    const { inputs, record } = runOf(config);
    const dispatched = await takeStep(plan, state, config).catch((error: unknown) => {
      // LangGraph adds a field to a thrown value. A primitive or frozen value cannot take it, so the run handle keeps it.
      if (Object.isExtensible(error)) throw error;
      noteFailure(error, config);
      return WAIT;
    });
    const { update, goto, refused = 0, isEnd = false, combined = [] } = dispatched;
    record.tally.addResults(refused);
    if (isEnd && inputs.given?.kind !== "correction") emitEvent(config, record.tally.end());
    const command: ModelCommand = new Command({ ...(update !== undefined && { update }), goto });
    const more = combined.map((fields): ModelCommand => new Command({ update: fields }));
    return more.length === 0 ? command : [command, ...more];
  };
}

/** The run ends for now, and another node or run goes on. */
const WAIT: Dispatched = { goto: END };

/** The story of one step: what came meanwhile, the gate, the request, and what follows the response. */
async function takeStep(plan: AgentPlan, state: AgentState, config: Config): Promise<Dispatched> {
  const { inputs, record } = runOf(config);
  const { messages } = state;
  if (inputs.given !== undefined) {
    const written = await writeGiven(inputs.given, messages, config, plan.settings.name);
    return endWith(written, undefined, inputs.structuredResponse);
  }
  if (record.failure !== undefined) return WAIT;
  const taken = await takeMessages(plan.settings, state, config);
  if (taken !== undefined) return goOn(taken);

  const { context = {} } = config;
  const settings = settingsInRun(plan.settings, context);
  const policy = await plan.summaryPolicy(context, positionIn(turnOf(state), context.model));
  const { returnDirect } = plan;
  const gate = decideAtGate(state, { limits: settings, policy, stepsLeft: stepsLeft(config), returnDirect });
  switch (gate.kind) {
    case "wait":
      return WAIT;
    case "summarize":
      return { goto: "summarize" };
    case "end":
      tellIfMissing(plan.formatPlan, messages, config);
      return endWith([]);
    case "used-up": {
      emitEvent(config, { type: "limit-reached", limit: gate.reason });
      if (plan.formatPlan !== undefined)
        emitEvent(config, { type: "structured-response-missing", reason: "limit-reached" });
      const text = new AIMessage(TOOLS_OFF_TEXTS[gate.reason]);
      return endWith([await withFreshId(text, messages, config)], gate.turn);
    }
    case "close":
      if (gate.reason !== "after-required" && mayHaveTools(plan, config))
        emitEvent(config, { type: "limit-reached", limit: gate.reason });
  }

  const step: ModelStep = { plan, state, config, settings, policy, off: toolsOffReason(gate, settings) };
  const tokensBefore = record.tally.tokens;
  const asked = await requestResponse(step, gate.turn);
  const { answer } = asked;
  const updates = await checkUpdates(answer, config);
  const iterations = gate.turn.iterations + asked.requests - 1;
  const turn = withPosition({ ...gate.turn, iterations }, context, answer.position);
  const followed = await followResponse(step, asked, turn);
  const whole = answer.isTerminated ? followed : await takeMore(step, followed);
  const merged = mergeUpdates(whole, updates, messages, inputs.ownState.reducedKeys);
  const before = { turn: gate.turn, thread: state.threadUsage ?? NO_USAGE };
  return charge(merged, before, record.tally.tokens - tokensBefore, settings, config);
}

/** What the functions of a step share when the gate is passed. */
interface ModelStep {
  readonly plan: AgentPlan;
  readonly state: AgentState;
  readonly config: Config;
  /** The settings of the run. */
  readonly settings: Settings;
  readonly policy: SummaryPolicy;
  /** Why the model must not call tools; undefined if it may. */
  readonly off: ToolsOffReason | undefined;
}

/** Asks the model, and again if its response is not in the format. */
function requestResponse(step: ModelStep, turn: Turn): Promise<AnswerInFormat> {
  const { plan, state, config, settings, policy, off } = step;
  const usual = requestOf(plan, state, settings, policy, config);
  // A required call is required once per turn.
  const toolChoice = turn.afterRequired === undefined ? usual.toolChoice : "auto";
  const request = { ...usual, toolChoice: off === undefined ? toolChoice : ("none" as const) };
  // A model that responds with texts that are not in the format is asked again within the limits of the turn.
  const left = Math.min(settings.maxConsecutiveErrors, settings.maxIterations - turn.iterations + 1);
  const mostRequests = turn.closing === undefined ? Math.max(1, left) : 1;
  return askInFormat(plan.formatPlan, request, mostRequests, config);
}

/** What follows a response: its calls are sent, or answered here, or the turn ends with it. */
async function followResponse(
  step: ModelStep,
  { answer, format }: AnswerInFormat,
  turn: Turn,
): Promise<Dispatched> {
  const { plan, state, config, settings } = step;
  const { isTerminated } = answer;
  if (answer.message === undefined) return endWith([], turn);
  const fresh = await withFreshId(answer.message, state.messages, config);
  const message = withDistinctCallIds(withName(fresh, settings.name));
  runOf(config).record.tally.addAnswer(message);
  const off = step.off ?? offInAnswer(answer, plan);
  const response = { turn, off, isFinal: turn.closing !== undefined, isTerminated };
  const settled = format && (await settleResponse(format, message, response, config));
  if (settled?.kind === "done") return settled.dispatched;
  if (callsOf(message).length === 0) return endWith([message], turn);
  if (off !== undefined) return endWith([await withoutStrayCalls(message, off, config)], turn);
  if (isTerminated) {
    const refusals = refuseEnded(message);
    return { ...endWith([message, ...refusals], turn), refused: refusals.length };
  }
  try {
    const { answered } = settled ?? {};
    return await dispatchCalls(message, turn, step, { answer, answered, hasFormat: format !== undefined });
  } catch (error) {
    await takeBack(message, config);
    throw error;
  }
}

/** The turn of a message that came meanwhile follows at once. */
async function takeMore({ plan, state, config }: ModelStep, dispatched: Dispatched): Promise<Dispatched> {
  const { update, isEnd, refused = 0 } = dispatched;
  if (!isEnd || update?.messages === undefined) return dispatched;
  const last = messagesIn(update);
  // The results of a structured response end the turn, not the run.
  const messages = [...state.messages, ...last.map((message) => withoutMarks(message))];
  const taken = await takeMessages(plan.settings, { ...state, messages }, config);
  if (taken === undefined) return dispatched;
  return { ...goOn({ ...update, ...taken, messages: [...last, ...taken.messages] }), refused };
}

/**
 * The messages are written before the model is asked, so that they stay if it fails.
 *
 * @param values Further updates of own keys, in order.
 */
function goOn({ values = [], ...update }: AgentUpdate & Pick<TakenMessages, "values">): Dispatched {
  return { update, goto: "model", combined: values };
}

function endWith(messages: readonly BaseMessage[], turn?: Turn, structuredResponse?: unknown): Dispatched {
  const update = {
    messages: [...messages],
    ...(turn !== undefined && { turn }),
    ...(structuredResponse !== undefined && { structuredResponse }),
  };
  return { update, goto: END, isEnd: true };
}

/** What chat middleware has written, with values as the user's schema makes them. */
async function checkUpdates(
  { updates, message }: ModelAnswer,
  config: Config,
): Promise<ModelAnswer["updates"]> {
  const { ownState } = runOf(config).inputs;
  try {
    const read = updates.map(async (update) => ({
      ...update,
      fields: await readOwnValues(ownState, update.fields),
    }));
    return await Promise.all(read);
  } catch (error) {
    if (message !== undefined) await takeBack(message, config);
    throw error;
  }
}

/** Middleware can offer tools that the graph does not have, and answer their calls. */
function mayHaveTools({ offered, formatPlan }: AgentPlan, config: Config): boolean {
  const { chat, function: serving } = runOf(config).inputs.middleware;
  return offered.length > 0 || formatPlan !== undefined || (chat.length > 0 && serving.length > 0);
}

function toolsOffReason(
  gate: Extract<GateDecision, { kind: "call" | "close" }>,
  { toolChoice }: Settings,
): ToolsOffReason | undefined {
  if (gate.kind === "close") return gate.reason;
  return toolChoice === "none" ? "tool-choice" : undefined;
}

/** A chat middleware may have offered tools, or switched them off. */
function offInAnswer({ offered = [], toolChoice }: ModelAnswer, plan: AgentPlan): ToolsOffReason | undefined {
  if (plan.offered.length === 0 && offered.length === 0) return "no-tools";
  return toolChoice === "none" ? "tool-choice" : undefined;
}

/*
 * Decides on the complete state whether the model is called. The decision is at the beginning of the model node,
 * because an edge after parallel tasks is evaluated once for each task, and sees only that task's write.
 */

type GateDecision =
  /** Calls of the open group are in flight, or there is nothing to respond to. */
  | { readonly kind: "wait" }
  /** The group is complete and the run ends: a middleware said so, or the required call was made. */
  | { readonly kind: "end" }
  | { readonly kind: "summarize" }
  | { readonly kind: "call"; readonly turn: Turn }
  /** The tokens of the thread were used up before this turn, so the model is not called. */
  | { readonly kind: "used-up"; readonly turn: Turn; readonly reason: "max-tokens-per-thread" }
  /** The model is called with tools off, for a final response. */
  | { readonly kind: "close"; readonly turn: Turn; readonly reason: ClosingReason | "after-required" };

interface GateLimits {
  readonly limits: LoopLimits;
  readonly policy: SummaryPolicy;
  /** The names of the tools whose results end the run. @default none */
  readonly returnDirect?: ReadonlySet<string> | undefined;
  /** Supersteps that the run can take after this one. */
  readonly stepsLeft: number;
}

function decideAtGate(
  state: AgentState,
  { limits, policy, stepsLeft, returnDirect }: GateLimits,
): GateDecision {
  const last = state.messages.at(-1);
  if (last === undefined || last.type === "ai") return { kind: "wait" };
  if (unansweredCalls(state.messages).pending.length > 0) return { kind: "wait" };
  if (isResult(last) && (isGroupEnded(state) || isReturnedDirectly(state, returnDirect)))
    return { kind: "end" };
  if (isThreadUsedUp(state, limits)) {
    const reason = "max-tokens-per-thread";
    return { kind: "used-up", turn: { ...turnOf(state), closing: reason }, reason };
  }
  if (stepsLeft >= STEPS_OF_A_SUMMARY && shouldSummarize(state, policy)) return { kind: "summarize" };
  const turn = countRound(turnOf(state), state);
  const spending = { turn, thread: state.threadUsage ?? NO_USAGE };
  const reason = turn.closing ?? closingReason(spending, limits, stepsLeft);
  if (reason !== undefined) return { kind: "close", turn: { ...turn, closing: reason }, reason };
  if (turn.afterRequired === "answer") return { kind: "close", turn, reason: "after-required" };
  return { kind: "call", turn: { ...turn, iterations: turn.iterations + 1 } };
}

function isGroupEnded(state: AgentState): boolean {
  return turnOf(state).afterRequired === "end" || lastResults(state.messages).some(endsRun);
}

/**
 * Whether all calls of the latest batch were answered by tools whose results are meant for the user. If one of them
 * failed, or another tool was called beside them, the model has something to respond to.
 */
function isReturnedDirectly({ messages }: AgentState, direct: GateLimits["returnDirect"]): boolean {
  if (direct === undefined || direct.size === 0) return false;
  const [group] = lastGroups(messages);
  if (group === undefined) return false;
  return group.calls.every(({ name }, index) => direct.has(name) && group.results[index]?.status !== "error");
}

/** The calls of the message before the last results, with these. */
function lastGroups(messages: readonly BaseMessage[]) {
  const head = messages.findLastIndex((message) => !isResult(message));
  return groupMessages(messages.slice(Math.max(head, 0)), callsOf).groups;
}

function closingReason(spending: Spending, limits: LoopLimits, stepsLeft: number): ClosingReason | undefined {
  const { turn } = spending;
  if (turn.iterations >= limits.maxIterations) return "max-iterations";
  if (turn.toolCalls >= limits.maxToolCalls) return "max-tool-calls";
  if (turn.consecutiveErrors >= limits.maxConsecutiveErrors) return "max-consecutive-errors";
  if (stepsLeft < STEPS_OF_A_ROUND) return "recursion-limit";
  return usedUpBudget(spending, limits);
}

/** The turn, updated with the outcome of the round that has just ended, if any. */
function countRound(turn: Turn, { messages }: AgentState): Turn {
  const last = messages.at(-1);
  if (last === undefined || !isResult(last)) return turn;
  const hasFailed = lastGroups(messages).every(({ results }) =>
    results.every((result) => result?.status === "error"),
  );
  return { ...turn, consecutiveErrors: hasFailed ? turn.consecutiveErrors + 1 : 0 };
}

/*
 * Why the model must not call tools. A call that it makes anyway is removed, not run.
 */

type ToolsOffReason =
  | ClosingReason
  /** The required calls have their results, and `afterRequired` asks for a text response. */
  | "after-required"
  /** `toolChoice: "none"` of the graph, the run or a chat middleware. */
  | "tool-choice"
  /** The graph has no tools. */
  | "no-tools";

/** The text for the user if the response has no text of its own. */
const TOOLS_OFF_TEXTS: Readonly<Record<ToolsOffReason, string>> = {
  "max-iterations": "I stopped here: the limit of model calls for one turn is reached.",
  "max-tool-calls": "I stopped here: the limit of tool calls for one turn is reached.",
  "max-tokens-per-turn": "I stopped here: the limit of tokens for one turn is reached.",
  "max-tokens-per-thread": "I stopped here: the limit of tokens for this thread is reached.",
  "max-tool-calls-per-thread": "I stopped here: the limit of tool calls for this thread is reached.",
  "max-consecutive-errors": "I stopped here: the tools failed several times in a row.",
  "recursion-limit": "I stopped here: the run's recursion limit is reached.",
  "after-required": "I stopped here: the required tool was called, and no other call is allowed.",
  "tool-choice": "I stopped here: tools are off for this response.",
  "no-tools": "I stopped here: there is no tool to call.",
};

/** Clients have already received the calls. So that message is retracted, and the rest is sent under a new id. */
async function withoutStrayCalls(
  message: AIMessage,
  reason: ToolsOffReason,
  config: RunnableConfig,
): Promise<AIMessage> {
  const { id = "" } = message;
  await retractMessages([new RemoveMessage({ id })], config);
  const rest = withoutCalls(message, () => true);
  const answer = isBlankMessage(rest) ? copyMessage(rest, { content: TOOLS_OFF_TEXTS[reason] }) : rest;
  return copyMessage(answer, { id: deriveId(answer, id) });
}

/*
 * Writes the response that an agent middleware set as the result of a run.
 */

/**
 * A message that replaces another one gets a new id, because clients join streamed messages by id. Its tool calls are
 * not run, so they get results here, except calls that the caller will answer.
 */
async function writeGiven(
  { messages }: GivenMessages,
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  name: string | undefined,
): Promise<BaseMessage[]> {
  const removed = messages.filter(({ type }) => type === "remove");
  await retractMessages(removed, config);
  const replaced = history.filter(({ id }) => removed.some((removal) => removal.id === id));
  const written: BaseMessage[] = [...removed];
  for (const message of messages) {
    if (message.type === "remove") continue;
    written.push(withName(await withFreshId(message, history, config), name));
    const waits = replaced.some((earlier) => callIds(earlier) === callIds(message));
    if (isAIMessage(message) && !waits) written.push(...refuseEnded(message));
  }
  return written;
}

function callIds(message: BaseMessage): string {
  return isAIMessage(message)
    ? callsOf(message)
        .map(({ id }) => id)
        .join()
    : "";
}
