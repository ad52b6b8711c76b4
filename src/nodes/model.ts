import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { concat } from "@langchain/core/utils/stream";
import { Command, END, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { ModelError } from "../errors.js";
import { callsOf, isAIMessage } from "../history/call.js";
import { coerceMessage } from "../history/coerce-message.js";
import { copyMessage } from "../history/copy-message.js";
import { deriveUnusedId } from "../history/message-id.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { coverageOf } from "../history/summary.js";
import { isBlankMessage, withoutCalls } from "../history/without-calls.js";
import { identityOf } from "../providers/dialect-of.js";
import { type FinishHabit, finishHabitOf } from "../providers/finish-habit.js";
import { type Askable, guardModel } from "../providers/guard-model.js";
import type { StreamGuardOptions } from "../providers/stream-guard.js";
import { toModelInput } from "../providers/to-model-input.js";
import { type LoopLimits, resolveLimits } from "../settings/loop-limits.js";
import type { RunContext } from "../settings/run-context.js";
import { emitEvent } from "./agent-event.js";
import type { AgentState, AgentUpdate, ClosingReason, Turn } from "./agent-state.js";
import { isArchived } from "./archive.js";
import { decideAtGate } from "./gate.js";
import { runHandleOf, stepsLeft } from "./run-handle.js";
import { type ToolTask, toolTasksOf } from "./tool-task.js";

export interface ModelNodeOptions {
  readonly tools: readonly StructuredToolInterface[];
  readonly limits: LoopLimits;
  readonly systemPrompt: string | undefined;
  readonly maxToolCallsFromHistory: number | undefined;
  /** How often a broken answer is asked for again, without streaming. */
  readonly maxStreamFallbackAttempts: number;
  readonly summaryPolicy: (context: RunContext) => SummaryPolicy;
  /** Contract: resolves to the model that a run names, or to the default one; rejects with a clear error. */
  readonly resolveModel: (name: string | undefined) => Promise<BaseChatModel>;
}

/** What the user reads if a closing answer has no text of its own. */
const CLOSING_TEXTS: Readonly<Record<ClosingReason, string>> = {
  "max-iterations": "I stopped here: the limit of model calls for one turn is reached.",
  "max-function-calls": "I stopped here: the limit of tool calls for one turn is reached.",
  "max-consecutive-errors": "I stopped here: the tools failed several times in a row.",
  "recursion-limit": "I stopped here: the run's recursion limit is reached.",
};

type ModelCommand = Command<unknown, AgentUpdate, "model" | "summarize" | "tools" | typeof END>;

/** Passes the gate, asks the model, and sends its calls to their tools. */
export function createModelNode(options: ModelNodeOptions) {
  return async function model(
    state: AgentState,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<ModelCommand> {
    const context = config.context ?? {};
    const limits = resolveLimits(context, options.limits);
    const policy = options.summaryPolicy(context);
    const decision = decideAtGate(state, { limits, policy, stepsLeft: stepsLeft(config) });
    if (decision.kind === "wait") return new Command({ goto: END });
    if (decision.kind === "summarize") return new Command({ goto: "summarize" });

    const chatModel = await options.resolveModel(context.model);
    const input = toModelInput(state.messages, {
      ...identityOf(chatModel),
      systemPrompt: context.systemPrompt ?? options.systemPrompt,
      maxToolCallsFromHistory: context.maxToolCallsFromHistory ?? options.maxToolCallsFromHistory,
      maxTokens: policy.maxTokens > 0 ? Math.max(policy.maxTokens - policy.toolTokens, 1) : undefined,
    });
    const isClosing = decision.kind === "close";
    if (isClosing && options.tools.length > 0)
      emitEvent(config, { type: "limit-reached", limit: decision.reason });
    const guard = createGuard(state.messages, finishHabitOf(chatModel), options, config);
    const model = await guardModel(offerTools(chatModel, options.tools, isClosing), guard, config);
    const answer = await withFreshId(await ask(model, input, config), state.messages, config);
    const message = isClosing ? withoutStrayCalls(answer, decision.reason) : answer;
    const tally = runHandleOf(config)?.tally;
    tally?.addAnswer(message);
    const tasks = toolTasksOf(message);
    if (!isClosing && tasks.length > 0) {
      const functionCalls = decision.turn.functionCalls + tasks.length;
      if (functionCalls <= limits.maxFunctionCalls)
        return dispatchCalls(message, tasks, { ...decision.turn, functionCalls });
      tally?.addResults(tasks.length);
      return refuseCalls(message, decision.turn);
    }
    if (tally !== undefined) emitEvent(config, tally.end());
    return new Command({ update: { messages: [message], turn: decision.turn }, goto: END });
  };
}

function offerTools(
  model: BaseChatModel,
  tools: readonly StructuredToolInterface[],
  isClosing: boolean,
): Askable {
  if (tools.length === 0) return model;
  if (model.bindTools === undefined) {
    throw new ModelError(
      "This model cannot call tools: it has no `bindTools`. Choose another one, or no tools.",
    );
  }
  // The tools stay declared: some providers refuse a history with calls where no tool is.
  return model.bindTools([...tools], isClosing ? { tool_choice: "none" } : {});
}

function createGuard(
  history: readonly BaseMessage[],
  habit: FinishHabit,
  { maxStreamFallbackAttempts }: ModelNodeOptions,
  config: LangGraphRunnableConfig,
): StreamGuardOptions {
  return {
    maxFallbackAttempts: maxStreamFallbackAttempts,
    habit,
    isTaken: (id) => history.some((message) => message.id === id),
    onBroken: ({ reason, usage }) => {
      runHandleOf(config)?.tally.addBroken(usage);
      emitEvent(config, { type: "answer-broken", reason });
    },
  };
}

/** Streams, whether or not anybody listens: `invoke` of some clients downloads a tokenizer when they stream. */
async function ask(
  model: Askable,
  input: BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<AIMessage> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model.stream(input, config)) {
    whole = whole === undefined ? chunk : concat(whole, chunk);
  }
  const message = coerceMessage(whole);
  if (
    message === undefined ||
    !isAIMessage(message) ||
    (callsOf(message).length === 0 && isBlankMessage(message))
  ) {
    throw new ModelError("The model answered nothing: neither text nor a tool call.");
  }
  return message;
}

/**
 * Ids of streamed messages come from the provider; one that repeats an id must not overwrite an earlier message, be it
 * in the state or in the archive.
 */
async function withFreshId(
  message: AIMessage,
  history: readonly BaseMessage[],
  { store, configurable }: LangGraphRunnableConfig,
): Promise<AIMessage> {
  const isTaken = (id: string) => history.some((earlier) => earlier.id === id);
  const threadId: unknown = configurable?.["thread_id"];
  const mayBeArchived =
    store !== undefined && typeof threadId === "string" && history.some(isArchivedSummary);
  if (message.id !== undefined && !isTaken(message.id)) {
    if (!mayBeArchived || !(await isArchived(store, threadId, message.id))) return message;
  }
  return copyMessage(message, { id: deriveUnusedId(message, history.at(-1)?.id ?? "", isTaken) });
}

function isArchivedSummary(message: BaseMessage): boolean {
  return coverageOf(message)?.kind === "archive";
}

function withoutStrayCalls(message: AIMessage, reason: ClosingReason): AIMessage {
  if (callsOf(message).length === 0) return message;
  const rest = withoutCalls(message, () => true);
  return isBlankMessage(rest) ? copyMessage(rest, { content: CLOSING_TEXTS[reason] }) : rest;
}

function dispatchCalls(message: AIMessage, tasks: readonly ToolTask[], turn: Turn): ModelCommand {
  return new Command({
    update: { messages: [message], turn },
    goto: tasks.map((task) => new Send("tools", task)),
  });
}

/** A batch that would exceed the budget is answered instead of run, and the model closes the turn. */
function refuseCalls(message: AIMessage, turn: Turn): ModelCommand {
  const refusals = callsOf(message).map(
    ({ id, name }) =>
      new ToolMessage({
        content: "Not run: the limit of tool calls for one turn is reached.",
        tool_call_id: id,
        name,
        status: "error",
      }),
  );
  const closed: Turn = { ...turn, closing: "max-function-calls" };
  return new Command({ update: { messages: [message, ...refusals], turn: closed }, goto: "model" });
}
