import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { withDistinctCallIds } from "../../history/calls/distinct-call-ids.js";
import type { SummaryPolicy } from "../../history/long-threads/plan-summary.js";
import { callsOf } from "../../history/messages/call.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import { isSavedRun } from "../../langgraph/run-host.js";
import type { FormatPlan } from "../../settings/format/read-response-format.js";
import { type LoopLimits, resolveLimits } from "../../settings/loop-limits.js";
import type { RunContext } from "../../settings/run-context.js";
import type { SummaryPolicyOf } from "../../settings/summary-policy.js";
import type { ToolChoice } from "../../settings/tool-choice.js";
import { approvalScene } from "../approval/approval-scene.js";
import type { CallPolicy } from "../approval/call-policy.js";
import { askInFormat } from "../format/ask-in-format.js";
import { activeFormat, formatRequest } from "../format/format-request.js";
import { settleResponse, tellIfMissing } from "../format/settle-response.js";
import { emitEvent } from "../run/agent-event.js";
import type { AgentState, Turn } from "../run/agent-state.js";
import { noteFailure, runInputsOf, runRecordOf } from "../run/run-handle.js";
import { stepsLeft } from "../run/superstep-budget.js";
import { NO_USAGE } from "../run/thread-usage.js";
import type { ModelRequest } from "./ask-model.js";
import { charge } from "./charge.js";
import {
  type Dispatched,
  dispatchCalls,
  type ModelCommand,
  refuseAfterTermination,
} from "./dispatch-calls.js";
import { withFreshId } from "./fresh-id.js";
import { decideAtGate, type GateDecision, type GateLimits } from "./gate.js";
import { TOOLS_OFF_TEXTS, type ToolsOffReason, withoutStrayCalls } from "./tools-off.js";
import { writeGiven } from "./write-given.js";

export interface ModelNodeOptions {
  /** The tools that the model is offered: the tools of the graph, and the additional ones. */
  readonly offered: readonly BindToolsInput[];
  readonly callPolicy: CallPolicy;
  /** The format of the final response. Undefined: a text. */
  readonly formatPlan: FormatPlan | undefined;
  readonly limits: LoopLimits;
  readonly toolChoice: ToolChoice;
  readonly systemPrompt: string | undefined;
  readonly maxToolCallsFromHistory: number | undefined;
  /** How often a broken response is requested again, without streaming. */
  readonly maxStreamFallbackAttempts: number;
  readonly summaryPolicy: SummaryPolicyOf;
  /** Contract: resolves to the model that a run names, or to the default model. Rejects with a clear error. */
  readonly resolveModel: (name: string | undefined) => Promise<BaseChatModel>;
}

type Config = LangGraphRunnableConfig<RunContext>;

/** Passes the gate, calls the model, and dispatches its tool calls. */
export function createModelNode(options: ModelNodeOptions) {
  /** Asks the model, and counts what that used. */
  async function ask(
    state: AgentState,
    decision: AskDecision,
    { limits, policy }: RunLimits,
    config: Config,
  ): Promise<Dispatched> {
    const tally = runRecordOf(config)?.tally;
    const tokensBefore = tally?.tokens ?? 0;
    const dispatched = await respond(state, decision, { limits, policy }, config);
    const before = { turn: decision.turn, thread: state.threadUsage ?? NO_USAGE };
    return charge(dispatched, before, (tally?.tokens ?? 0) - tokensBefore, limits, config);
  }

  async function respond(
    state: AgentState,
    decision: AskDecision,
    { limits, policy }: RunLimits,
    config: Config,
  ): Promise<Dispatched> {
    const context = config.context ?? {};
    const model = await options.resolveModel(context.model);
    const toolsOff = toolsOffReason(decision, options, context);
    const toolChoice = toolChoiceOf(decision.turn, options, context);
    const { formatPlan: plan, offered } = options;
    const format = plan && activeFormat(plan, model, offered.length > 0);
    const { answer, requests } = await askInFormat(
      format,
      {
        model,
        history: state.messages,
        input: inputOptions(options, context, policy),
        toolTokens: policy.toolTokens,
        ...formatRequest(format, model, { tools: offered, toolChoice, isOff: toolsOff !== undefined }),
        maxFallbackAttempts: options.maxStreamFallbackAttempts,
      },
      mostRequests(decision.turn, limits),
      config,
    );
    const turn = { ...decision.turn, iterations: decision.turn.iterations + requests - 1 };
    if (answer.message === undefined) return endWith([], turn);
    const message = withDistinctCallIds(await withFreshId(answer.message, state.messages, config));
    runRecordOf(config)?.tally.addAnswer(message);
    const off = toolsOff ?? (answer.toolChoice === "none" ? "tool-choice" : undefined);
    const isFinal = turn.closing !== undefined;
    const { isTerminated } = answer;
    const settled =
      format && (await settleResponse(format, message, { turn, off, isFinal, isTerminated }, config));
    if (settled?.kind === "done") return settled.dispatched;
    if (callsOf(message).length === 0) return endWith([message], turn);
    if (off !== undefined) return endWith([await withoutStrayCalls(message, off, config)], turn);
    if (isTerminated) return refuseAfterTermination(message, turn);
    const { maxToolCalls, maxToolCallsPerThread } = limits;
    try {
      return await dispatchCalls(message, turn, {
        policy: options.callPolicy,
        maxToolCalls,
        threadCallsLeft: maxToolCallsPerThread - (state.threadUsage?.toolCalls ?? 0),
        toolChoice: answer.toolChoice,
        isSaved: isSavedRun(config),
        answered: settled?.answered,
        hasFormat: format !== undefined,
        scene: () => approvalScene(state, message, config),
      });
    } catch (error) {
      await takeBack(message, config);
      throw error;
    }
  }

  async function decide(state: AgentState, config: Config): Promise<Dispatched> {
    const given = runInputsOf(config)?.given;
    if (given !== undefined) {
      const response = runInputsOf(config)?.structuredResponse;
      return endWith(await writeGiven(given, state.messages, config), undefined, response);
    }
    if (runRecordOf(config)?.failure !== undefined) return wait();
    const context = config.context ?? {};
    const limits = resolveLimits(context, options.limits);
    const policy = await options.summaryPolicy(context);
    const decision = decideAtGate(state, { limits, policy, stepsLeft: stepsLeft(config) });
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
        const message = new AIMessage(TOOLS_OFF_TEXTS[decision.reason]);
        return endWith([await withFreshId(message, state.messages, config)], decision.turn);
      }
      case "close":
        if (decision.reason !== "after-required" && hasTools(options))
          emitEvent(config, { type: "limit-reached", limit: decision.reason });
        return ask(state, decision, { limits, policy }, config);
      case "call":
        return ask(state, decision, { limits, policy }, config);
    }
  }

  return async function model(state: AgentState, config: Config): Promise<ModelCommand> {
    const { command, refused, isEnd } = await decide(state, config).catch((error: unknown) => {
      // LangGraph adds a field to a thrown value. A primitive or frozen value cannot take it, so the run handle keeps it.
      if (Object.isExtensible(error) || !noteFailure(error, config)) throw error;
      return wait();
    });
    const record = runRecordOf(config);
    if (record === undefined) return command;
    const { tally } = record;
    record.noteResponse(command.update);
    tally.addResults(refused);
    if (isEnd && runInputsOf(config)?.given?.kind !== "correction") emitEvent(config, tally.end());
    return command;
  };
}

/** The limits and the summary policy of a run, from the settings of the graph and the run. */
type RunLimits = Pick<GateLimits, "limits" | "policy">;

type AskDecision = Extract<GateDecision, { kind: "call" | "close" }>;

function wait(): Dispatched {
  return { command: new Command({ goto: END }), refused: 0, isEnd: false };
}

function endWith(messages: readonly BaseMessage[], turn?: Turn, structuredResponse?: unknown): Dispatched {
  const update = {
    messages: [...messages],
    ...(turn !== undefined && { turn }),
    ...(structuredResponse !== undefined && { structuredResponse }),
  };
  return { command: new Command({ update, goto: END }), refused: 0, isEnd: true };
}

/** A model that responds with texts that are not in the format is asked again within the limits of the turn. */
function mostRequests({ closing, iterations }: Turn, limits: LoopLimits): number {
  if (closing !== undefined) return 1;
  return Math.max(1, Math.min(limits.maxConsecutiveErrors, limits.maxIterations - iterations + 1));
}

function hasTools({ offered, formatPlan }: ModelNodeOptions): boolean {
  return offered.length > 0 || formatPlan !== undefined;
}

function toolsOffReason(
  decision: AskDecision,
  { offered, toolChoice }: ModelNodeOptions,
  context: RunContext,
): ToolsOffReason | undefined {
  if (decision.kind === "close") return decision.reason;
  if (offered.length === 0) return "no-tools";
  return (context.toolChoice ?? toolChoice) === "none" ? "tool-choice" : undefined;
}

/** A required call is required once per turn. */
function toolChoiceOf(turn: Turn, { toolChoice }: ModelNodeOptions, context: RunContext): ToolChoice {
  return turn.afterRequired === undefined ? (context.toolChoice ?? toolChoice) : "auto";
}

function inputOptions(
  { systemPrompt, maxToolCallsFromHistory }: ModelNodeOptions,
  context: RunContext,
  { maxTokens, toolTokens }: SummaryPolicy,
): ModelRequest["input"] {
  return {
    systemPrompt: context.systemPrompt ?? systemPrompt,
    maxToolCallsFromHistory: context.maxToolCallsFromHistory ?? maxToolCallsFromHistory,
    budget: maxTokens > 0 ? Math.max(maxTokens - toolTokens, 1) : undefined,
  };
}
