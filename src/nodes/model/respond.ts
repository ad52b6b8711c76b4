/** Asks the model, and decides what follows its response. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { withDistinctCallIds } from "../../history/calls/distinct-call-ids.js";
import type { SummaryPolicy } from "../../history/long-threads/plan-summary.js";
import { callsOf } from "../../history/messages/call.js";
import { withoutMarks } from "../../history/messages/marks.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import { isSavedRun } from "../../langgraph/run-host.js";
import type { FormatPlan } from "../../settings/format/read-response-format.js";
import type { LoopLimits } from "../../settings/loop-limits.js";
import type { RunContext } from "../../settings/run-context.js";
import { readOwnValues } from "../../settings/schemas/own-state.js";
import type { Settings } from "../../settings/settings.js";
import type { ToolChoice } from "../../settings/tool-choice.js";
import { approvalScene } from "../approval/approval-scene.js";
import type { ApprovalScene, CallPolicy } from "../approval/call-policy.js";
import { type AnswerInFormat, askInFormat } from "../format/ask-in-format.js";
import { settleResponse } from "../format/settle-response.js";
import type { TakeMessages } from "../inbox/take-messages.js";
import type { AgentState, AgentUpdate, Turn } from "../run/agent-state.js";
import { type ModelChainOptions, modelChain, withPosition } from "../run/model-chain.js";
import { ownStateOf, runInputsOf, runRecordOf } from "../run/run-handle.js";
import { NO_USAGE } from "../run/thread-usage.js";
import type { ModelAnswer, ModelRequest } from "./ask-model.js";
import { charge } from "./charge.js";
import { type Dispatched, dispatchCalls, refuseAfterTermination } from "./dispatch-calls.js";
import { endWith, goOn } from "./dispatched.js";
import { withFreshId } from "./fresh-id.js";
import type { GateDecision, GateLimits } from "./gate.js";
import { mergeUpdates } from "./merge-updates.js";
import { type ToolsOffReason, withoutStrayCalls } from "./tools-off.js";
import { withName } from "./with-name.js";

export interface ResponseOptions
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
export type RunLimits = Pick<GateLimits, "limits" | "policy">;

export type AskDecision = Extract<GateDecision, { kind: "call" | "close" }>;

type Config = LangGraphRunnableConfig<RunContext>;

/** Asks the model, and counts what that used. */
export async function respond(
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
