/** Replaces the earlier part of a history with a summary that a model writes. */

import { isDeepStrictEqual } from "node:util";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { ModelError } from "../../errors.js";
import { safeCuts } from "../../history/cut.js";
import { measureInput } from "../../history/measure.js";
import { contentText, toPlain } from "../../history/message.js";
import {
  coverPlan,
  isSummaryDue,
  leavingWith,
  planSummary,
  type SummaryPlan,
  type SummaryPolicy,
  TARGET,
} from "../../history/plan-summary.js";
import { listOf } from "../../history/read-messages.js";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import { countTokens, sumTokens } from "../../history/size.js";
import { type Coverage, createSummary, createSummaryNote, isUserMessage } from "../../history/summary.js";
import { countTextTokens } from "../../history/text-tokens.js";
import { levelFor, renderTranscript } from "../../history/transcript.js";
import { mayPass } from "../../providers/failure/model-failure.js";
import { readOverflow } from "../../providers/failure/overflow.js";
import { shortenText, shortenWork, sizeOf } from "../../providers/input/shorten.js";
import type { StreamGuardOptions } from "../../providers/response/ask-client.js";
import { askGuarded } from "../../providers/response/guard-model.js";
import { errorMessage } from "../../shared/is-error.js";
import { parseJson, toJson } from "../../shared/json.js";
import { withDeadline } from "../../shared/waiting.js";
import { windowInThread } from "../asking/help.js";
import { historyIn } from "../ended-runs/leftovers.js";
import { emitEvent, withAgentType } from "../events.js";
import { checkpointOfStep, isOutermost } from "../langgraph/run-host.js";
import { superstepOf } from "../langgraph/wrappable-graph.js";
import { type RunCheckpoints, savedCheckpoints, startingCheckpoints } from "../saver/run-checkpoints.js";
import { budgetOf, type SummaryLanguage } from "../shared-settings.js";
import { type AgentState, type AgentUpdate, turnOf } from "../state.js";
import { createUsageCounter, NO_USAGE, type RunTally, type RunUsage } from "../usage.js";

/**
 * Contract: sends the last request of the run's own model, up to the messages that are shown, with the question at its
 * end. Resolves to undefined if the model was not asked. Rejects with the model's error, or if it cannot get all these
 * messages in full.
 */
export type AskInConversation = (
  isShown: (message: BaseMessage) => boolean,
  question: BaseMessage,
  maxStreamFallbackAttempts: number,
  config: LangGraphRunnableConfig,
) => Promise<BaseMessage | undefined>;

interface SummaryRequest {
  readonly policy: SummaryPolicy;
  readonly wording: SummaryWording;
  readonly timeoutMs: number;
  /** How many times an incomplete response of the summariser is requested again. */
  readonly maxStreamFallbackAttempts: number;
  readonly coveredMessages: Coverage["kind"];
  /** What the run knows about its thread. Undefined: what its checkpointer tells. */
  readonly checkpoints?: RunCheckpoints | undefined;
  /** Contract: makes the model that writes the summary. */
  readonly resolveModel: () => Promise<BaseChatModel>;
  /** Undefined: the model gets a transcript. */
  readonly askInConversation?: AskInConversation | undefined;
  /** The run's tally, which counts the summary's cost. */
  readonly tally?: RunTally | undefined;
}

/**
 * Replaces the earlier part of the history with one summary. If that fails for any reason, the history stays unchanged,
 * and an event says so.
 *
 * @throws The abort's reason, if the run is aborted.
 */
export async function summarizeHistory(
  state: AgentState,
  request: SummaryRequest,
  config: LangGraphRunnableConfig,
): Promise<AgentUpdate> {
  const { policy, coveredMessages, tally } = request;
  const { tokens, ratio } = measureInput(state.messages, policy);
  const attempt = { turn: turnOf(state).startedBy, tokens: Math.ceil(tokens) };
  const due = planSummary(state.messages, policy);
  if (due === undefined) return { summaryAttempt: attempt };
  const { failures = 0 } = state.summaryAttempt ?? {};
  const tokensBefore = tally?.tokens ?? 0;
  const cost = () => costUpdate(state, (tally?.tokens ?? 0) - tokensBefore, tally?.soFar());
  try {
    const model = await request.resolveModel();
    const writer: SummaryWriter = {
      ...request,
      model,
      // A summariser that has failed before is asked once.
      maxStreamFallbackAttempts: failures > 0 ? 0 : request.maxStreamFallbackAttempts,
      ratio,
      tokensPerStep: tokensPerStep(policy, model, state.messages) / ratio,
    };
    const { plan, text } = await writeSummary(due, writer, config);
    const checkpoint =
      coveredMessages === "archive"
        ? await checkpointWith(leavingWith(plan, state.messages), config, request.checkpoints)
        : undefined;
    const coverage = coverPlan(plan, state.messages, checkpoint);
    const summary = createSummary(text, coverage);
    const before = sumTokens([...plan.summaries, ...plan.lateResults, ...plan.covered]);
    const tokensSaved = Math.round((before - countTokens(summary)) * ratio);
    emitEvent(config, { type: "summary-made", covered: coverage.messages, tokensSaved });
    const summaryAttempt = { ...attempt, tokens: attempt.tokens - tokensSaved };
    // A plain object: LangGraph would show a message instance in the chat stream.
    return { messages: [toPlain(summary)], summaryAttempt, ...cost() };
  } catch (error) {
    if (config.signal?.aborted === true) throw error;
    emitEvent(config, {
      type: "summary-failed",
      reason: errorMessage(error),
      retryAfterTurns: turnsToWait(failures + 1),
    });
    return { summaryAttempt: { ...attempt, failures: failures + 1 }, ...cost() };
  }
}

/** A failed summary also costs tokens. */
function costUpdate(state: AgentState, tokens: number, run: RunUsage | undefined): AgentUpdate {
  if (tokens === 0) return {};
  const turn = turnOf(state);
  return {
    turn: { ...turn, tokens: (turn.tokens ?? 0) + tokens },
    threadUsage: { ...NO_USAGE, tokens, ...(run !== undefined && { run }) },
  };
}

/** How many tokens a summariser reads at once, even if the thread has a small budget. */
const USUAL_TOKENS_PER_STEP = 4_000;
/** How many tokens any model can read at once. */
const LEAST_TOKENS_PER_STEP = 400;

/** The summariser may have a smaller window than the run's model. */
function tokensPerStep(
  { maxTokensBeforeSummary }: SummaryPolicy,
  model: BaseChatModel,
  history: readonly BaseMessage[],
): number {
  const wanted = Math.max(maxTokensBeforeSummary, USUAL_TOKENS_PER_STEP);
  const most = budgetOf(model, windowInThread(history, model)) ?? wanted;
  return Math.max(Math.min(wanted, most), LEAST_TOKENS_PER_STEP);
}

/** The plan for the oldest messages. The next summary covers the others. */
function firstPart(plan: SummaryPlan, most: number): SummaryPlan {
  if (plan.covered.length <= most) return plan;
  const end = safeCuts(plan.covered).lastIndexOf(true, most);
  return end > 0 ? { ...plan, covered: plan.covered.slice(0, end) } : plan;
}

/**
 * The id of a saved checkpoint that has all these messages as they are: the one that the superstep began on, or else
 * the one that the run began on. Undefined if there is none: the run is not saved, or the messages are from a run that
 * is saved only at its end. The messages then stay in the state, and a later summary takes them along.
 */
async function checkpointWith(
  messages: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  known: RunCheckpoints | undefined,
): Promise<string | undefined> {
  try {
    const step = superstepOf(config);
    if (step !== undefined && isOutermost(config)) await known?.whenSent(step);
    const own = await savedCheckpoints(config, checkpointOfStep(config));
    const tuple = own?.begunOn ?? known?.begunOn ?? (await startingCheckpoints(config))?.begunOn;
    const list = own && tuple && (await historyIn(tuple, own));
    return hasAll(normalizeHistory(listOf(list)), messages) ? tuple?.checkpoint.id : undefined;
  } catch {
    return undefined;
  }
}

function hasAll(list: readonly BaseMessage[], wanted: readonly BaseMessage[]): boolean {
  const stored = new Map(list.map((message) => [message.id, message]));
  return wanted.every((message) => isDeepStrictEqual(asStored(stored.get(message.id)), asStored(message)));
}

/** A message that was read back can lack undefined fields, and have the others in another order. */
function asStored(message: BaseMessage | undefined): unknown {
  return message && parseJson(toJson(toPlain(message)) ?? "");
}

interface SummaryWriter extends SummaryRequest {
  readonly model: BaseChatModel;
  /** How many tokens the provider counts for each estimated one. */
  readonly ratio: number;
  /** How many tokens of the conversation the summariser reads at once, by our estimate. */
  readonly tokensPerStep: number;
}

/** LangGraph keeps the tokens of a model with this tag out of the chat stream. */
const HIDDEN = ["nostream", "langsmith:nostream"];
/** LangSmith's name for a request that only shortens the context. */
const COMPACTION = "compaction";
const REQUEST_TIMEOUT = 408;

/** The most requests that a summary takes, unless the summariser refuses one as too long. */
const MOST_STEPS = 8;
/** How many times smaller steps are tried if the summariser refuses one as too long. */
const MOST_HALVINGS = 3;
/** At least this many tokens of each message are shown. */
const LEAST_TOKENS = 40;

/** How many messages one summary can cover, so that something of each is shown. */
function mostMessages({ tokensPerStep }: SummaryWriter): number {
  return Math.max(Math.floor((tokensPerStep * MOST_STEPS) / (LEAST_TOKENS * 2)), 1);
}

/**
 * Requests the summary at the end of the conversation, which the provider has in its cache. If that fails, the
 * summariser gets a transcript.
 *
 * @returns The summary with its heading, and what it covers.
 * @throws Error if the summariser throws, takes too long, is cut off, returns nothing, or writes too long a summary.
 */
async function writeSummary(due: SummaryPlan, writer: SummaryWriter, config: LangGraphRunnableConfig) {
  const withHeading = (summary: string) => `${writer.wording.heading}\n\n${summary}`;
  const asked = await askAtTheEnd(due, writer, config);
  if (asked !== undefined && faultOf(withHeading(asked), due, writer) === undefined)
    return { plan: due, text: withHeading(asked) };
  const plan = firstPart(due, mostMessages(writer));
  const text = withHeading(await readTranscript(plan, writer, config));
  const fault = faultOf(text, plan, writer);
  if (fault !== undefined) throw new Error(fault);
  return { plan, text };
}

/** Why a summary is too long. Undefined if it is not. */
function faultOf(
  text: string,
  { summaries, lateResults, covered }: SummaryPlan,
  { policy, ratio }: SummaryWriter,
): string | undefined {
  const length = Math.ceil(countTextTokens(text) * ratio);
  const replaced = Math.ceil(sumTokens([...summaries, ...lateResults, ...covered]) * ratio);
  if (length >= replaced)
    return `the summary (${length} tokens) is not shorter than the messages that it covers (${replaced})`;
  // A longer summary would leave no room for new messages.
  const most =
    policy.maxTokensBeforeSummary > 0 ? policy.maxTokensBeforeSummary * TARGET : Number.POSITIVE_INFINITY;
  return length > most ? `the summary has ${length} tokens, more than the limit of ${most}` : undefined;
}

/** Undefined if there is no summary, but a transcript may lead to one. */
async function askAtTheEnd(
  { kept }: SummaryPlan,
  { askInConversation, wording, maxStreamFallbackAttempts, ...writer }: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string | undefined> {
  if (askInConversation === undefined) return undefined;
  const left = new Set(kept.map(({ id }) => id));
  const question = createSummaryNote(`${wording.instructions}\n\n${wording.question}`);
  try {
    const response = await withinTime(writer, config, (hidden) =>
      askInConversation(({ id }) => !left.has(id), question, maxStreamFallbackAttempts, hidden),
    );
    return summaryText(response, wording) || undefined;
  } catch (error) {
    if (config.signal?.aborted === true || mayPass(error)) throw error;
    return undefined;
  }
}

/**
 * Lets the summariser read the plan's messages, in several steps if they are long. Each step includes the summary so
 * far.
 */
function readTranscript(
  { summaries, lateResults, covered }: SummaryPlan,
  writer: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const { heading } = writer.wording;
  const previous = summaries.map((message) => withoutHeading(contentText(message), heading)).join("\n\n");
  return readInSteps([...lateResults, ...covered], previous, writer, config);
}

/** Starts over with half the step if the summariser refuses a request as too long. */
async function readInSteps(
  messages: readonly BaseMessage[],
  previous: string,
  writer: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  for (let halvings = 0, tokens = writer.tokensPerStep; ; halvings += 1, tokens /= 2) {
    try {
      let summary = previous;
      for (const piece of piecesOf(messages, Math.floor(tokens)))
        summary = await askSummariser(writer.wording.request(summary, piece), writer, config);
      return summary;
    } catch (error) {
      if (halvings === MOST_HALVINGS || readOverflow(error) === undefined) throw error;
    }
  }
}

/** The transcript in as many pieces as steps are allowed. The longest messages are shortened for it. */
function piecesOf(messages: readonly BaseMessage[], tokensPerStep: number): string[] {
  for (let room = tokensPerStep * MOST_STEPS; ; room /= 2) {
    const level = Math.max(levelFor(messages.map(sizeOf), room), LEAST_TOKENS);
    const pieces = renderTranscript(
      messages.map((message) => shortenBoth(message, level)),
      tokensPerStep,
    );
    if (pieces.length <= MOST_STEPS || level === LEAST_TOKENS) return pieces;
  }
}

function shortenBoth(message: BaseMessage, tokens: number): BaseMessage {
  if (message.type === "tool") return shortenWork(message, tokens, []);
  return shortenText(shortenWork(message, tokens, []), tokens);
}

async function askSummariser(
  request: string,
  { model, wording, maxStreamFallbackAttempts, tally, ...writer }: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const messages = [new SystemMessage(wording.instructions), new HumanMessage(request)];
  const counter = createUsageCounter(model, tally);
  counter.begin(sumTokens(messages));
  const guard: StreamGuardOptions = {
    wants: "whole-text",
    maxFallbackAttempts: maxStreamFallbackAttempts,
    isTaken: () => false,
    onBroken: ({ usage }) => counter.addUnused(usage),
  };
  const response = await withinTime(writer, config, (hidden) => askGuarded(model, guard, messages, hidden));
  if (response !== undefined) counter.addResponse(response);
  const text = summaryText(response, wording);
  if (text === "") throw new Error("the summariser's response has no text");
  return text;
}

/** Asks with a time limit. Clients see nothing of the response. */
function withinTime<Answer>(
  { timeoutMs }: Pick<SummaryWriter, "timeoutMs">,
  config: LangGraphRunnableConfig,
  ask: (hidden: LangGraphRunnableConfig) => Promise<Answer>,
): Promise<Answer> {
  const hidden = {
    ...config,
    tags: [...HIDDEN, COMPACTION],
    metadata: withAgentType(config.metadata, COMPACTION),
    runName: "summarize",
  };
  return withDeadline((signal) => ask({ ...hidden, signal }), {
    signal: config.signal,
    timeoutMs,
    timeoutError: (milliseconds) =>
      new ModelError(`the summariser did not respond within ${milliseconds} ms`, { status: REQUEST_TIMEOUT }),
  });
}

function summaryText(response: BaseMessage | undefined, { heading }: SummaryWording): string {
  return response === undefined ? "" : withoutHeading(contentText(response), heading);
}

function withoutHeading(text: string, heading: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith(heading) ? trimmed.slice(heading.length).trim() : trimmed;
}

/*
 * A summariser's instructions, and its summary's heading.
 */

const PROMPTS = {
  en: {
    heading: "## Summary of the conversation so far",
    instructions: [
      "You summarise the earlier part of a conversation between a user and an assistant with tools. Your summary takes its place: what it leaves out is forgotten.",
      "Keep what the user wants and has decided, names, numbers, dates, ids, paths and other facts to the letter, what tools returned as far as it may still matter, what failed and why, and what is still open.",
      "Where there is a summary so far, fold it in. Write in the language of the conversation, as short as that allows, and nothing but the summary.",
    ].join("\n"),
    question:
      "Write this summary now, of all that stands before this message. Do not continue the conversation, and call no tool.",
    previous: "The summary so far:",
    transcript: "The conversation since:",
  },
  zh: {
    heading: "## 对话历史摘要",
    instructions: [
      "请为用户与助手（可调用工具）之间较早的对话写一份摘要。摘要将取代原文：未写入的内容会被遗忘。",
      "请逐字保留用户的要求和决定、名称、数字、日期、编号、路径等事实，保留之后仍可能用到的工具结果、失败及其原因，以及尚未完成的事项。",
      "如已有摘要，请将其并入。使用对话所用的语言，尽量简短，只输出摘要本身。",
    ].join("\n"),
    question: "现在请为本消息之前的全部内容写出这份摘要。不要继续对话，也不要调用工具。",
    previous: "已有摘要：",
    transcript: "此后的对话：",
  },
} as const satisfies Record<SummaryLanguage, unknown>;

export interface SummaryWording {
  readonly heading: string;
  readonly instructions: string;
  /** Follows the instructions at the end of a conversation. */
  readonly question: string;
  /** Contract: returns the text of one request to the summariser. The parts are inserted literally. */
  readonly request: (previous: string, transcript: string) => string;
}

export function summaryWording(language: SummaryLanguage): SummaryWording {
  const { previous: before, transcript: since, ...words } = PROMPTS[language];
  return {
    ...words,
    request: (previous, transcript) =>
      [...(previous === "" ? [] : [before, previous]), since, transcript].join("\n\n"),
  };
}

/** The fraction by which the input must grow before another summary is tried in the same turn. */
const GROWTH = 0.25;
const LONGEST_WAIT = 8;

/**
 * Whether the run makes a summary now. After an attempt that worked or had nothing to cover, the next one waits for
 * another turn, a larger input, or much that can be covered. After failures it waits for more and more turns. It is
 * never made at every step.
 */
export function shouldSummarize(state: AgentState, policy: SummaryPolicy): boolean {
  if (!isSummaryDue(state.messages, policy)) return false;
  const attempt = state.summaryAttempt;
  if (attempt === undefined) return true;
  const { failures = 0 } = attempt;
  if (failures > 0) return turnsSince(attempt.turn, state) >= turnsToWait(failures);
  if (attempt.turn !== turnOf(state).startedBy) return true;
  const grown = measureInput(state.messages, policy).tokens - attempt.tokens;
  if (grown >= Math.max(policy.maxTokensBeforeSummary, attempt.tokens) * GROWTH) return true;
  return (planSummary(state.messages, policy)?.gain ?? 0) >= policy.maxTokensBeforeSummary * TARGET;
}

/** 1, 2, 4, then 8: a failing summariser costs a request only now and then. */
function turnsToWait(failures: number): number {
  return Math.min(2 ** (failures - 1), LONGEST_WAIT);
}

/** How many turns began after this one. Infinity if its message is gone. */
function turnsSince(turn: string | undefined, { messages }: AgentState): number {
  const start = messages.findLastIndex(({ id }) => id === turn);
  if (turn === undefined ? !messages.some(isUserMessage) : start >= 0)
    return messages.slice(start + 1).filter(isUserMessage).length;
  return Number.POSITIVE_INFINITY;
}
