import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { Command, END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { withDistinctCallIds } from "../../history/calls/distinct-call-ids.js";
import type { SummaryPolicy } from "../../history/long-threads/plan-summary.js";
import { callsOf } from "../../history/messages/call.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import { isSavedRun } from "../../langgraph/run-host.js";
import { type LoopLimits, resolveLimits } from "../../settings/loop-limits.js";
import type { RunContext } from "../../settings/run-context.js";
import type { SummaryPolicyOf } from "../../settings/summary-policy.js";
import type { ToolChoice } from "../../settings/tool-choice.js";
import type { CallPolicy } from "../approval/call-policy.js";
import { emitEvent } from "../run/agent-event.js";
import type { AgentState, Turn } from "../run/agent-state.js";
import { noteFailure, runInputsOf, runRecordOf } from "../run/run-handle.js";
import { stepsLeft } from "../run/superstep-budget.js";
import { askModel, type ModelRequest } from "./ask-model.js";
import {
  type Dispatched,
  dispatchCalls,
  type ModelCommand,
  refuseAfterTermination,
} from "./dispatch-calls.js";
import { withFreshId } from "./fresh-id.js";
import { decideAtGate, type GateDecision, type GateLimits } from "./gate.js";
import { type ToolsOffReason, withoutStrayCalls } from "./tools-off.js";
import { withName } from "./with-name.js";
import { writeGiven } from "./write-given.js";

export interface ModelNodeOptions {
  /** The tools that the model is offered: the tools of the graph, and the additional ones. */
  readonly offered: readonly BindToolsInput[];
  readonly callPolicy: CallPolicy;
  readonly limits: LoopLimits;
  readonly toolChoice: ToolChoice;
  /** The names of the tools whose results end the run. */
  readonly returnDirect: ReadonlySet<string>;
  /** The name on the responses. */
  readonly name: string | undefined;
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
  async function ask(
    state: AgentState,
    decision: AskDecision,
    { limits, policy }: RunLimits,
    config: Config,
  ): Promise<Dispatched> {
    const context = config.context ?? {};
    const model = await options.resolveModel(context.model);
    const toolsOff = toolsOffReason(decision, options, context);
    const toolChoice = toolChoiceOf(decision.turn, options, context);
    const answer = await askModel(
      {
        model,
        history: state.messages,
        input: inputOptions(options, context, policy),
        toolTokens: policy.toolTokens,
        tools: options.offered,
        toolChoice: toolsOff === undefined ? toolChoice : "none",
        maxFallbackAttempts: options.maxStreamFallbackAttempts,
      },
      config,
    );
    const { turn } = decision;
    if (answer.message === undefined) return endWith([], turn);
    const fresh = await withFreshId(answer.message, state.messages, config);
    const message = withDistinctCallIds(withName(fresh, options.name));
    runRecordOf(config)?.tally.addAnswer(message);
    const off = toolsOff ?? (answer.toolChoice === "none" ? "tool-choice" : undefined);
    if (callsOf(message).length === 0) return endWith([message], turn);
    if (off !== undefined) return endWith([await withoutStrayCalls(message, off, config)], turn);
    if (answer.isTerminated) return refuseAfterTermination(message, turn);
    const { maxToolCalls } = limits;
    try {
      return await dispatchCalls(message, turn, {
        policy: options.callPolicy,
        maxToolCalls,
        toolChoice: answer.toolChoice,
        isSaved: isSavedRun(config),
      });
    } catch (error) {
      await takeBack(message, config);
      throw error;
    }
  }

  async function decide(state: AgentState, config: Config): Promise<Dispatched> {
    const given = runInputsOf(config)?.given;
    if (given !== undefined) return endWith(await writeGiven(given, state.messages, config, options.name));
    if (runRecordOf(config)?.failure !== undefined) return wait();
    const context = config.context ?? {};
    const limits = resolveLimits(context, options.limits);
    const policy = await options.summaryPolicy(context);
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
        return endWith([]);
      case "summarize":
        return { command: new Command({ goto: "summarize" }), refused: 0, isEnd: false };
      case "close":
        if (decision.reason !== "after-required" && options.offered.length > 0)
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
    const tally = runRecordOf(config)?.tally;
    if (tally === undefined) return command;
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

function endWith(messages: readonly BaseMessage[], turn?: Turn): Dispatched {
  const update = { messages: [...messages], ...(turn !== undefined && { turn }) };
  return { command: new Command({ update, goto: END }), refused: 0, isEnd: true };
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
