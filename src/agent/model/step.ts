/** The model node: one model step, from the messages that came meanwhile to the calls that are sent. */

import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../../history/call.js";
import { isBlankMessage, withDistinctCallIds, withoutCalls } from "../../history/change-calls.js";
import { type Group, groupMessages } from "../../history/group.js";
import { MARKS, withoutMarks } from "../../history/marks.js";
import { copyMessage, deriveId } from "../../history/message.js";
import { unansweredCalls } from "../../history/open-calls.js";
import { withUnusedId } from "../../history/reducer/taken-ids.js";
import { endsRun, isResult, lastResults } from "../../history/result.js";
import { isUserMessage } from "../../history/summary.js";
import { defined } from "../../shared/values.js";
import { idsInInput } from "../../threads/commands.js";
import { continuesFork } from "../../threads/ended-runs/leftovers.js";
import { retractMessages, takeBack } from "../../threads/ended-runs/shown-text.js";
import { emitEvent } from "../../threads/events.js";
import { runsBesideTasks } from "../../threads/langgraph/read-checkpoints.js";
import { readOwnValues } from "../../threads/own-state.js";
import {
  type AgentState,
  type AgentUpdate,
  type ClosingReason,
  inOtherBranch,
  newTurn,
  type Turn,
  turnOf,
} from "../../threads/state.js";
import { shouldSummarize } from "../../threads/summary/summarize.js";
import { NO_USAGE } from "../../threads/usage.js";
import {
  charge,
  type Dispatched,
  dispatchCalls,
  mergeUpdates,
  messagesOfUpdate,
  refuseEnded,
  withName,
} from "../calls/dispatch.js";
import { type AgentPlan, type ModelStep, planStep } from "../plan.js";
import { closingReason, STEPS_OF_A_SUMMARY, stepsLeft } from "../run/budgets.js";
import { type GivenMessages, noteFailure, runOf } from "../run/handle.js";
import { type TakenMessages, takeMessages } from "../run/take-messages.js";
import { withPosition } from "../settings/models.js";
import type { RunContext } from "../settings/run-context.js";
import { askInFormat, type ResponseInFormat, settleResponse, tellIfMissing } from "./ask-in-format.js";
import type { ModelResponse } from "./ask-in-middleware.js";
import { requestOf } from "./request.js";

type Config = LangGraphRunnableConfig<RunContext>;
type ModelCommand = Command<unknown, AgentUpdate, "model" | "summarize" | "approve" | "tools" | typeof END>;

export function createModelNode(plan: AgentPlan) {
  return async function model(state: AgentState, config: Config): Promise<ModelCommand | ModelCommand[]> {
    const { inputs } = runOf(config);
    const dispatched = await takeStep(plan, state, config).catch((error: unknown) => {
      // LangGraph adds a field to what is thrown. A primitive or frozen value cannot take it, so the run handle keeps
      // it.
      if (Object.isExtensible(error)) throw error;
      noteFailure(error, config);
      return DO_NOTHING;
    });
    const { update, goto, refused = 0, combined = [] } = dispatched;
    inputs.tally.addResults(refused);
    const command: ModelCommand = new Command({ ...(update !== undefined && { update }), goto });
    const more = combined.map((fields): ModelCommand => new Command({ update: fields }));
    return more.length === 0 ? command : [command, ...more];
  };
}

/** The node writes nothing and starts nothing: other tasks, the caller or a later run continue. */
const DO_NOTHING: Dispatched = { goto: END };

/** One step: what came meanwhile, the gate, the request, and what follows the response. */
async function takeStep(plan: AgentPlan, state: AgentState, config: Config): Promise<Dispatched> {
  const { inputs, record } = runOf(config);
  const { messages } = state;
  // An agent middleware gave the response, so the model is not asked.
  if (inputs.given !== undefined) {
    const written = await writeGiven(inputs.given, messages, config, plan.settings.name);
    return endWith(written, undefined, inputs.structuredResponse);
  }
  if (record.failure !== undefined) return DO_NOTHING;
  // A message after the results so far does not mean that the other calls have ended.
  if (runsBesideTasks(config, "model")) return DO_NOTHING;
  const beforeNotes = withoutNotes(messages, config);
  const taken = await takeMessages(plan.settings, state, config, beforeNotes);
  if (taken !== undefined) return goOn(taken);

  const beginsTurn = !record.hasAsked && (inputs.isEdit || inputs.hasLateResult);
  const current = beginsTurn ? newTurn(state) : turnWithNotes(state, beforeNotes);
  const isBranch = inputs.namesCheckpoint || (!record.hasAsked && (await continuesFork(inputs.checkpoints)));
  const turn = isBranch ? inOtherBranch(turnOf({ ...state, turn: current })) : current;
  const step = await planStep(plan, { ...state, turn }, config);
  const gate = decideAtGate(step, beforeNotes);
  switch (gate.kind) {
    case "wait":
      return DO_NOTHING;
    case "summarize":
      return { goto: "summarize", ...(turn !== undefined && turn !== state.turn && { update: { turn } }) };
    case "end":
      tellIfMissing(plan.formatPlan, beforeNotes, config);
      return endWith([]);
    case "used-up":
      return endUnasked(gate.turn, step);
  }
  const { closing } = gate.turn;
  if (closing !== undefined && mayHaveTools(plan, config))
    emitEvent(config, { type: "limit-reached", limit: closing });

  record.hasAsked = true;
  const tokensBefore = inputs.tally.tokens;
  const asked = await requestResponse(step, gate);
  const { response } = asked;
  const updates = await checkUpdates(response, config);
  const iterations = gate.turn.iterations + asked.requests - 1;
  const asking = withPosition({ ...gate.turn, iterations }, config.context?.model, response.position);
  const followed = await followResponse(step, asked, asking, gate.off);
  const whole = response.isTerminated ? followed : await takeMore(step, followed);
  const merged = mergeUpdates(whole, updates, messages, inputs.ownState.reducedKeys);
  const before = { turn: gate.turn, thread: state.threadUsage ?? NO_USAGE };
  return charge(merged, before, inputs.tally.tokens - tokensBefore, step.settings, config);
}

/** Asks the model, and asks again if its response is not in the format. */
function requestResponse(step: ModelStep, { turn, off }: Asking): Promise<ResponseInFormat> {
  const { plan, config, settings } = step;
  const usual = requestOf(step);
  // A required call is required once per turn.
  const toolChoice = turn.afterRequired === undefined ? usual.toolChoice : "auto";
  const request = { ...usual, toolChoice: off === undefined ? toolChoice : ("none" as const) };
  // A model that keeps responding outside the format is asked again within the turn's limits.
  const left = Math.min(settings.maxConsecutiveErrors, settings.maxIterations - turn.iterations + 1);
  const mostRequests = turn.closing === undefined ? Math.max(1, left) : 1;
  return askInFormat(plan.formatPlan, request, mostRequests, config);
}

/**
 * What follows a response: its calls are sent or answered here, or it ends the turn.
 *
 * @param offAtGate Why the model must not call tools; undefined if it may.
 */
async function followResponse(
  step: ModelStep,
  { response, format }: ResponseInFormat,
  turn: Turn,
  offAtGate: ToolsOffReason | undefined,
): Promise<Dispatched> {
  const { plan, state, config, settings } = step;
  const { isTerminated } = response;
  if (response.message === undefined) return endWith([], turn);
  const fresh = withUnusedId(response.message, state.messages);
  const message = withDistinctCallIds(withName(fresh, settings.name));
  runOf(config).inputs.tally.addResponse(message);
  const off = offAtGate ?? offInResponse(response, plan);
  const situation = { turn, off, isFinal: turn.closing !== undefined, isTerminated };
  const settled = format && (await settleResponse(format, message, situation, config));
  if (settled?.kind === "done") return settled.dispatched;
  if (callsOf(message).length === 0) return endWith([message], turn);
  if (off !== undefined) return endWith([await withoutStrayCalls(message, off, config)], turn);
  if (isTerminated) {
    const refusals = refuseEnded(message);
    return { ...endWith([message, ...refusals], turn), refused: refusals.length };
  }
  try {
    const { answered } = settled ?? {};
    return await dispatchCalls(message, turn, step, { response, answered, hasFormat: format !== undefined });
  } catch (error) {
    await takeBack(message, config);
    throw error;
  }
}

/** A message that came meanwhile begins its turn at once. */
async function takeMore({ plan, state, config }: ModelStep, dispatched: Dispatched): Promise<Dispatched> {
  const { update, isEnd, refused = 0 } = dispatched;
  if (!isEnd || update?.messages === undefined) return dispatched;
  const last = messagesOfUpdate(update);
  // The results of a structured response end the turn, but not the run.
  const messages = [...state.messages, ...last.map((message) => withoutMarks(message))];
  const taken = await takeMessages(plan.settings, { ...state, messages }, config);
  if (taken === undefined) return dispatched;
  return { ...goOn({ ...update, ...taken, messages: [...last, ...taken.messages] }), refused };
}

/**
 * Writes the messages before the model is asked, so that they stay if it fails.
 *
 * @param values Further updates of own keys, in order.
 */
function goOn({ values = [], ...update }: AgentUpdate & Pick<TakenMessages, "values">): Dispatched {
  return { update, goto: "model", combined: values };
}

function endWith(messages: readonly BaseMessage[], turn?: Turn, structuredResponse?: unknown): Dispatched {
  const update = { messages: [...messages], ...defined({ turn, structuredResponse }) };
  return { update, goto: END, isEnd: true };
}

/** Once a thread's tokens are used up, a turn ends with a text and without a request. */
async function endUnasked(turn: Turn, { plan, state, config }: ModelStep): Promise<Dispatched> {
  emitEvent(config, { type: "limit-reached", limit: USED_UP });
  if (plan.formatPlan !== undefined)
    emitEvent(config, { type: "structured-response-missing", reason: "limit-reached" });
  const text = new AIMessage(TOOLS_OFF_TEXTS[USED_UP]);
  return endWith([withUnusedId(text, state.messages)], { ...turn, closing: USED_UP });
}

/** What chat middleware wrote, with values as the user's schema makes them. */
async function checkUpdates(
  { updates, message }: ModelResponse,
  config: Config,
): Promise<ModelResponse["updates"]> {
  const { ownState } = runOf(config).inputs;
  try {
    return await Promise.all(
      updates.map(async (update) => ({ ...update, fields: await readOwnValues(ownState, update.fields) })),
    );
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

function offInResponse(
  { offered = [], toolChoice }: ModelResponse,
  plan: AgentPlan,
): ToolsOffReason | undefined {
  if (plan.offered.length === 0 && offered.length === 0) return "no-tools";
  return toolChoice === "none" ? "tool-choice" : undefined;
}

/*
 * Decides from the complete state whether the model is called. The model node makes the decision, because an edge after
 * parallel tasks is evaluated once per task and sees only that task's write.
 */

type GateDecision =
  /** Calls of the open group are in flight, or there is nothing to respond to. */
  | { readonly kind: "wait" }
  /** The group is complete and the run ends: a middleware ended it, or the required call was made. */
  | { readonly kind: "end" }
  | { readonly kind: "summarize" }
  /** Earlier turns used up the thread's tokens. Each turn would spend more, so the model is not asked. */
  | { readonly kind: "used-up"; readonly turn: Turn }
  | Asking;

interface Asking {
  readonly kind: "ask";
  readonly turn: Turn;
  /** Why the model must not call tools; undefined if it may. */
  readonly off: ToolsOffReason | undefined;
}

const USED_UP = "max-tokens-per-thread";

/** @param messages The history without the notes at its end. */
function decideAtGate(
  { plan, state, config, settings, policy }: ModelStep,
  messages: readonly BaseMessage[],
): GateDecision {
  const { threadUsage: thread = NO_USAGE } = state;
  const last = messages.at(-1);
  if (last === undefined || (last.type === "ai" && !hasNewResult(config))) return { kind: "wait" };
  if (unansweredCalls(messages).pending.length > 0) return { kind: "wait" };
  const begun = turnOf(state);
  const isRound = isResult(last);
  if (isRound && (begun.afterRequired === "end" || lastResults(messages).some(endsRun)))
    return { kind: "end" };
  const groups = isRound ? lastGroups(messages) : [];
  if (isReturnedDirectly(groups[0], plan.tools)) return { kind: "end" };
  if (begun.iterations === 0 && begun.closing === undefined && thread.tokens >= settings.maxTokensPerThread)
    return { kind: "used-up", turn: begun };
  if (stepsLeft(config) >= STEPS_OF_A_SUMMARY && shouldSummarize(state, policy)) return { kind: "summarize" };
  const turn = isRound ? countRound(begun, groups) : begun;
  const closing = turn.closing ?? closingReason({ turn, thread }, settings, config);
  if (closing !== undefined) return { kind: "ask", turn: { ...turn, closing }, off: closing };
  if (turn.afterRequired === "respond") return { kind: "ask", turn, off: "after-required" };
  const off = settings.toolChoice === "none" ? "tool-choice" : undefined;
  return { kind: "ask", turn: { ...turn, iterations: turn.iterations + 1 }, off };
}

/** Whether the run brought a late result, and has not told the model yet. */
function hasNewResult(config: Config): boolean {
  const { inputs, record } = runOf(config);
  return inputs.hasLateResult && !record.hasAsked;
}

/**
 * The history without the notes at its end. A note is a message that a tool or a middleware wrote after this run's
 * results. It does not hide the round that has ended. A message from the inbox or the run's input, which can be a
 * `Command` with decisions, is not a note: the model responds to it.
 */
function withoutNotes(messages: readonly BaseMessage[], config: Config): readonly BaseMessage[] {
  const { inputs } = runOf(config);
  if (inputs.tally.results === 0) return messages;
  const given = new Set(idsInInput(inputs.input));
  const isNote = ({ id = "", type, additional_kwargs }: BaseMessage) =>
    type !== "tool" && type !== "ai" && additional_kwargs[MARKS.steered] === undefined && !given.has(id);
  const end = messages.findLastIndex((message) => !isNote(message)) + 1;
  const last = messages[end - 1];
  return end < messages.length && last !== undefined && isResult(last) ? messages.slice(0, end) : messages;
}

/** A note continues the turn, even if it is a user message. */
function turnWithNotes({ turn, messages }: AgentState, { length }: readonly BaseMessage[]): Turn | undefined {
  if (turn === undefined || !messages.slice(length).some(isUserMessage)) return turn;
  return { ...turn, startedBy: messages.findLast(isUserMessage)?.id };
}

/** The calls of the message before the last results, grouped with these results. */
function lastGroups(messages: readonly BaseMessage[]): readonly Group[] {
  const head = messages.findLastIndex((message) => !isResult(message));
  return groupMessages(messages.slice(Math.max(head, 0)), callsOf).groups;
}

/**
 * Whether tools with `returnDirect` answered the latest batch. If one of them failed, or another tool was also called,
 * the model has something to respond to.
 */
function isReturnedDirectly(group: Group | undefined, tools: AgentPlan["tools"]): boolean {
  return (
    group?.calls.every(({ name }, index) => {
      const isDirect = Reflect.get(tools.get(name) ?? {}, "returnDirect") === true;
      return isDirect && group.results[index]?.status !== "error";
    }) ?? false
  );
}

/** The turn, updated with the outcome of the last round. */
function countRound(turn: Turn, groups: readonly Group[]): Turn {
  const hasFailed = groups.every(({ results }) => results.every((result) => result?.status === "error"));
  return { ...turn, consecutiveErrors: hasFailed ? turn.consecutiveErrors + 1 : 0 };
}

/*
 * Why the model must not call tools. If it calls one anyway, the call is removed and not run.
 */

type ToolsOffReason =
  | ClosingReason
  /** The required calls have their results, and `afterRequired` asks for a text response. */
  | "after-required"
  /** The graph, the run or a chat middleware set `toolChoice: "none"`. */
  | "tool-choice"
  /** The graph has no tools. */
  | "no-tools";

/** What the user reads if the response has no text of its own. */
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
  const response = isBlankMessage(rest) ? copyMessage(rest, { content: TOOLS_OFF_TEXTS[reason] }) : rest;
  return copyMessage(response, { id: deriveId(response, id) });
}

/*
 * Writes the response that an agent middleware set as the run's result.
 */

/**
 * A message that replaces another gets a new id, because clients join streamed messages by id. Its tool calls are not
 * run, so they get results here, except those that the caller will answer.
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
    written.push(withName(withUnusedId(message, history), name));
    const waits = replaced.some((earlier) => callIds(earlier) === callIds(message));
    if (isAIMessage(message) && !waits) written.push(...refuseEnded(message));
  }
  return written;
}

function callIds(message: BaseMessage): string {
  return callsOf(message)
    .map(({ id }) => id)
    .join();
}
