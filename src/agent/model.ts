/** The model node: passes the gate, asks the model, and decides what follows its response. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { isBlankMessage, withDistinctCallIds, withoutCalls } from "../history/change-calls.js";
import { groupMessages } from "../history/group.js";
import { withoutMarks } from "../history/marks.js";
import { copyMessage, deriveId } from "../history/message.js";
import { unansweredCalls } from "../history/open-calls.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { endsRun, isResult } from "../history/result.js";
import { emitEvent } from "../threads/events.js";
import { retractMessages, takeBack } from "../threads/langgraph/channels.js";
import { isSavedRun } from "../threads/langgraph/run-host.js";
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
import type { ApprovalScene, CallPolicy } from "./approval-rules.js";
import { approvalScene } from "./approve.js";
import type { ModelAnswer, ModelRequest } from "./ask-model.js";
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
  endWith,
  goOn,
  type ModelCommand,
  mergeUpdates,
  refuseAfterTermination,
  refuseEnded,
  wait,
  withFreshId,
  withName,
} from "./dispatch-calls.js";
import { type AnswerInFormat, askInFormat, settleResponse, tellIfMissing } from "./format/ask-in-format.js";
import type { FormatPlan } from "./format/response-format.js";
import type { TakeMessages } from "./inbox.js";
import type { GivenMessages } from "./middleware/run.js";
import {
  type ModelChainOptions,
  modelChain,
  noteFailure,
  ownStateOf,
  positionIn,
  runInputsOf,
  runRecordOf,
  withPosition,
} from "./run-handle.js";
import type { RunContext } from "./settings/run-context.js";
import type { Settings } from "./settings/settings.js";
import { type LoopLimits, resolveLimits } from "./settings/settings.js";
import type { ToolChoice } from "./settings/tools.js";
import type { SummaryPolicyOf } from "./summarize.js";

export interface ModelNodeOptions extends ResponseOptions {
  readonly limits: LoopLimits;
  /** The names of the tools whose results end the run. */
  readonly returnDirect: ReadonlySet<string>;
  readonly summaryPolicy: SummaryPolicyOf;
}

type Config = LangGraphRunnableConfig<RunContext>;

/** Passes the gate, and asks the model. */
export function createModelNode(options: ModelNodeOptions) {
  async function decide(state: AgentState, config: Config): Promise<Dispatched> {
    const given = runInputsOf(config)?.given;
    if (given !== undefined) {
      const response = runInputsOf(config)?.structuredResponse;
      return endWith(await writeGiven(given, state.messages, config, options.name), undefined, response);
    }
    if (runRecordOf(config)?.failure !== undefined) return wait();
    const taken = await options.takeMessages(state, config);
    if (taken !== undefined) return goOn(taken);
    const context = config.context ?? {};
    const limits = resolveLimits(context, options.limits);
    const policy = await options.summaryPolicy(context, positionIn(turnOf(state), context.model));
    const decision = decideAtGate(state, {
      limits,
      policy,
      stepsLeft: stepsLeft(config),
      returnDirect: options.returnDirect,
    });
    switch (decision.kind) {
      case "wait":
        return wait();
      case "end":
        tellIfMissing(options.formatPlan, state.messages, config);
        return endWith([]);
      case "summarize":
        return { command: new Command({ goto: "summarize" }), refused: 0, isEnd: false };
      case "used-up": {
        emitEvent(config, { type: "limit-reached", limit: decision.reason });
        if (options.formatPlan !== undefined)
          emitEvent(config, { type: "structured-response-missing", reason: "limit-reached" });
        const message = new AIMessage(TOOLS_OFF_TEXTS[decision.reason]);
        return endWith([await withFreshId(message, state.messages, config)], decision.turn);
      }
      case "close":
        if (decision.reason !== "after-required" && mayHaveTools(options, config))
          emitEvent(config, { type: "limit-reached", limit: decision.reason });
        return respond(state, decision, { limits, policy }, options, config);
      case "call":
        return respond(state, decision, { limits, policy }, options, config);
    }
  }

  return async function model(state: AgentState, config: Config): Promise<ModelCommand | ModelCommand[]> {
    const {
      command,
      refused,
      isEnd,
      combined = [],
    } = await decide(state, config).catch((error: unknown) => {
      // LangGraph adds a field to a thrown value. A primitive or frozen value cannot take it, so the run handle keeps it.
      if (Object.isExtensible(error) || !noteFailure(error, config)) throw error;
      return wait();
    });
    const more = combined.map((update): ModelCommand => new Command({ update }));
    const written = more.length === 0 ? command : [command, ...more];
    const record = runRecordOf(config);
    if (record === undefined) return written;
    const { tally } = record;
    record.noteResponse(command.update);
    tally.addResults(refused);
    if (isEnd && runInputsOf(config)?.given?.kind !== "correction") emitEvent(config, tally.end());
    return written;
  };
}

/** Middleware can offer tools that the graph does not have, and answer their calls. */
function mayHaveTools({ offered, formatPlan }: ModelNodeOptions, config: Config): boolean {
  if (offered.length > 0 || formatPlan !== undefined) return true;
  const { chat = [], function: serving = [] } = runInputsOf(config)?.middleware ?? {};
  return chat.length > 0 && serving.length > 0;
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

export function decideAtGate(
  state: AgentState,
  { limits, policy, stepsLeft, returnDirect }: GateLimits,
): GateDecision {
  const last = state.messages.at(-1);
  if (last === undefined || unansweredCalls(state.messages).pending.length > 0) return { kind: "wait" };
  if (last.type === "ai") return { kind: "wait" };
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
  return turnOf(state).afterRequired === "end" || lastResults(state).some(endsRun);
}

/**
 * Whether all calls of the latest batch were answered by tools whose results are meant for the user. If one of them
 * failed, or another tool was called beside them, the model has something to respond to.
 */
function isReturnedDirectly({ messages }: AgentState, direct: GateLimits["returnDirect"]): boolean {
  if (direct === undefined || direct.size === 0) return false;
  const head = messages.findLastIndex((message) => !isResult(message));
  const [group] = groupMessages(messages.slice(Math.max(head, 0)), callsOf).groups;
  if (group === undefined) return false;
  return group.calls.every(({ name }, index) => direct.has(name) && group.results[index]?.status !== "error");
}

/** The results at the end of the history. */
function lastResults({ messages }: AgentState): readonly BaseMessage[] {
  return messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
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
  const head = messages.findLastIndex((message) => !isResult(message));
  const { groups } = groupMessages(messages.slice(Math.max(head, 0)), callsOf);
  const hasFailed = groups.every(({ results }) => results.every((result) => result?.status === "error"));
  return { ...turn, consecutiveErrors: hasFailed ? turn.consecutiveErrors + 1 : 0 };
}

/*
 * Asks the model, and decides what follows its response.
 */

interface ResponseOptions
  extends ModelChainOptions,
    Pick<
      Settings,
      | "maxStreamFallbackAttempts"
      | "maxToolCallsFromHistory"
      | "name"
      | "promptCache"
      | "systemPrompt"
      | "toolChoice"
    > {
  /** The tools that the model is offered: the tools of the graph, and the additional ones. */
  readonly offered: readonly BindToolsInput[];
  readonly callPolicy: CallPolicy;
  /** The format of the final response. Undefined: a text. */
  readonly formatPlan: FormatPlan | undefined;
  /** Contract: takes the messages out of the thread's inbox. */
  readonly takeMessages: TakeMessages;
}

/** The limits and the summary policy of a run, from the settings of the graph and the run. */
type RunLimits = Pick<GateLimits, "limits" | "policy">;

type AskDecision = Extract<GateDecision, { kind: "call" | "close" }>;

/** Asks the model, and counts what that used. */
async function respond(
  state: AgentState,
  decision: AskDecision,
  runLimits: RunLimits,
  options: ResponseOptions,
  config: Config,
): Promise<Dispatched> {
  const tally = runRecordOf(config)?.tally;
  const tokensBefore = tally?.tokens ?? 0;
  const dispatched = await askAndDispatch(state, decision, runLimits, options, config);
  const before = { turn: decision.turn, thread: state.threadUsage ?? NO_USAGE };
  return charge(dispatched, before, (tally?.tokens ?? 0) - tokensBefore, runLimits.limits, config);
}

async function askAndDispatch(
  state: AgentState,
  decision: AskDecision,
  { limits, policy }: RunLimits,
  options: ResponseOptions,
  config: Config,
): Promise<Dispatched> {
  const context = config.context ?? {};
  const toolsOff = toolsOffReason(decision, options, context);
  const toolChoice = toolChoiceOf(decision.turn, options, context);
  const request = {
    models: modelChain(options, decision.turn, context),
    history: state.messages,
    input: inputOptions(options, context, policy),
    toolTokens: policy.toolTokens,
    tools: options.offered,
    toolChoice: toolsOff === undefined ? toolChoice : "none",
    maxFallbackAttempts: options.maxStreamFallbackAttempts,
    promptCache: options.promptCache,
  } as const;
  const asked = await askInFormat(options.formatPlan, request, mostRequests(decision.turn, limits), config);
  const updates = await checkUpdates(asked.answer, config);
  const iterations = decision.turn.iterations + asked.requests - 1;
  const turn = withPosition({ ...decision.turn, iterations }, context, asked.answer.position);
  const dispatched = await dispatch(asked, { state, turn, toolsOff, limits }, options, config);
  const followed = asked.answer.isTerminated
    ? dispatched
    : await takeMore(dispatched, state, options, config);
  return mergeUpdates(followed, updates, state.messages, ownStateOf(config).reducedKeys);
}

/** What chat middleware has written, with values as the user's schema makes them. */
async function checkUpdates(
  { updates, message }: ModelAnswer,
  config: Config,
): Promise<ModelAnswer["updates"]> {
  try {
    const read = updates.map(async (update) => ({
      ...update,
      fields: await readOwnValues(ownStateOf(config), update.fields),
    }));
    return await Promise.all(read);
  } catch (error) {
    if (message !== undefined) await takeBack(message, config);
    throw error;
  }
}

/** The turn of a message that came meanwhile follows at once. */
async function takeMore(
  dispatched: Dispatched,
  state: AgentState,
  { takeMessages }: ResponseOptions,
  config: Config,
): Promise<Dispatched> {
  const update = dispatched.command.update as AgentUpdate | undefined;
  if (!dispatched.isEnd || update?.messages === undefined) return dispatched;
  const last = update.messages as BaseMessage[];
  // The results of a structured response end the turn, not the run.
  const messages = [...state.messages, ...last.map((message) => withoutMarks(message))];
  const taken = await takeMessages({ ...state, messages }, config);
  if (taken === undefined) return dispatched;
  return {
    ...goOn({ ...update, ...taken, messages: [...last, ...taken.messages] }),
    refused: dispatched.refused,
  };
}

interface Scene {
  readonly state: AgentState;
  readonly turn: Turn;
  readonly toolsOff: ToolsOffReason | undefined;
  readonly limits: LoopLimits;
}

async function dispatch(
  { answer, format }: AnswerInFormat,
  { state, turn, toolsOff, limits }: Scene,
  options: ResponseOptions,
  config: Config,
): Promise<Dispatched> {
  if (answer.message === undefined) return endWith([], turn);
  const fresh = await withFreshId(answer.message, state.messages, config);
  const message = withDistinctCallIds(withName(fresh, options.name));
  runRecordOf(config)?.tally.addAnswer(message);
  const off = toolsOff ?? offInAnswer(answer, options);
  const isFinal = turn.closing !== undefined;
  const { isTerminated } = answer;
  const settled =
    format && (await settleResponse(format, message, { turn, off, isFinal, isTerminated }, config));
  if (settled?.kind === "done") return settled.dispatched;
  if (callsOf(message).length === 0) return endWith([message], turn);
  if (off !== undefined) return endWith([await withoutStrayCalls(message, off, config)], turn);
  if (isTerminated) return refuseAfterTermination(message, turn);
  const { maxToolCalls, maxToolCallsPerThread } = limits;
  let scene: ApprovalScene | undefined;
  try {
    return await dispatchCalls(message, turn, {
      policy: options.callPolicy,
      maxToolCalls,
      threadCallsLeft: maxToolCallsPerThread - (state.threadUsage?.toolCalls ?? 0),
      toolChoice: answer.toolChoice,
      offered: answer.offered,
      mayBeServed: (runInputsOf(config)?.middleware.function.length ?? 0) > 0,
      isSaved: isSavedRun(config),
      answered: settled?.answered,
      hasFormat: format !== undefined,
      scene: () => {
        scene ??= approvalScene(state, message, config);
        return scene;
      },
    });
  } catch (error) {
    await takeBack(message, config);
    throw error;
  }
}

/** A model that responds with texts that are not in the format is asked again within the limits of the turn. */
function mostRequests({ closing, iterations }: Turn, limits: LoopLimits): number {
  if (closing !== undefined) return 1;
  return Math.max(1, Math.min(limits.maxConsecutiveErrors, limits.maxIterations - iterations + 1));
}

function toolsOffReason(
  decision: AskDecision,
  { toolChoice }: ResponseOptions,
  context: RunContext,
): ToolsOffReason | undefined {
  if (decision.kind === "close") return decision.reason;
  return (context.toolChoice ?? toolChoice) === "none" ? "tool-choice" : undefined;
}

/** A chat middleware may have offered tools, or switched them off. */
function offInAnswer(
  { offered, toolChoice }: ModelAnswer,
  options: ResponseOptions,
): ToolsOffReason | undefined {
  if (options.offered.length === 0 && (offered ?? []).length === 0) return "no-tools";
  return toolChoice === "none" ? "tool-choice" : undefined;
}

/** A required call is required once per turn. */
function toolChoiceOf(turn: Turn, { toolChoice }: ResponseOptions, context: RunContext): ToolChoice {
  return turn.afterRequired === undefined ? (context.toolChoice ?? toolChoice) : "auto";
}

function inputOptions(
  { systemPrompt, maxToolCallsFromHistory }: ResponseOptions,
  context: RunContext,
  { maxTokens, toolTokens }: SummaryPolicy,
): ModelRequest["input"] {
  return {
    systemPrompt: context.systemPrompt ?? systemPrompt,
    maxToolCallsFromHistory: context.maxToolCallsFromHistory ?? maxToolCallsFromHistory,
    budget: maxTokens > 0 ? Math.max(maxTokens - toolTokens, 1) : undefined,
  };
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
