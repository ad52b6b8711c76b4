/** A model call of a LangChain agent: the summary, the input, and the guard of its response. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, RemoveMessage, SystemMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type LangGraphRunnableConfig, ReducedValue } from "@langchain/langgraph";
import { ModelError } from "../errors.js";
import { callsOf, isAIMessage } from "../history/call.js";
import { withDistinctCallIds } from "../history/change-calls.js";
import type { ToolCallsToKeep } from "../history/cut.js";
import { toPlain } from "../history/message.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { coerceMessage } from "../history/read-messages.js";
import { countTextTokens } from "../history/size.js";
import { coverageOf } from "../history/summary.js";
import {
  type Askable,
  guardModel,
  joinChunks,
  type StreamGuardOptions,
} from "../providers/answer/guard-model.js";
import { finishHabitOf } from "../providers/answer/verdict.js";
import { describeFailure } from "../providers/failure/model-failure.js";
import { prepareModelInput } from "../providers/input/to-model-input.js";
import { cachedCreateModel } from "../providers/models/create-model.js";
import { checkSettings } from "../shared/check-settings.js";
import { isRecord } from "../shared/values.js";
import { findReturned } from "../threads/archive.js";
import { emitEvent } from "../threads/events.js";
import { type AgentUpdate, type SummaryAttempt, summaryAttemptSchema } from "../threads/state.js";
import { missingStore } from "../threads/stores.js";
import { shouldSummarize, summarizeHistory, summaryWording } from "../threads/summary.js";
import {
  budgetFor,
  countToolTokens,
  SUMMARY_SETTINGS,
  type SummaryOptions,
  type SummarySettings,
} from "../threads/summary-settings.js";
import { askWithinWindow, assertGivenModel, type GivenModel, type InputForm } from "../threads/window.js";
import type { TetherMiddlewareOptions } from "./tether-middleware.js";
import { configOf, type HookRuntime, threadIdOf } from "./tether-state.js";

/** How often a broken response is requested again, if the options do not say. */
export const FALLBACK_ATTEMPTS = 3;

/** The fields of LangChain's request that this middleware reads and changes. */
export interface AgentRequest {
  readonly model: object;
  readonly messages: BaseMessage[];
  readonly systemMessage: SystemMessage;
  readonly tools?: readonly unknown[];
  readonly state: { readonly messages: readonly BaseMessage[] };
}

/**
 * Asks the model of the request with a history that it accepts. A sound history is passed on as it is.
 *
 * @param send Contract: asks the model of the request that it gets, with these messages.
 * @throws ModelError if the model fails, or gives no complete response.
 */
export async function askModel<Request extends AgentRequest, Answer>(
  request: Request,
  history: readonly BaseMessage[],
  options: TetherMiddlewareOptions,
  config: LangGraphRunnableConfig,
  send: (request: Request) => Promise<Answer>,
): Promise<Answer> {
  const { systemMessage } = request;
  const { dialect, maxToolCallsFromHistory } = options;
  const model = await resolved(request.model, config);
  const guarded = guardedModel(model, {
    ...guardFor(model, history, options, config),
    // Another middleware can leave messages out of the request.
    takenCallIds: () => new Set([...request.state.messages, ...history].flatMap(callsOf).map(({ id }) => id)),
  });
  const messages = withSystemFirst(systemMessage, history);
  const prepare = (form: InputForm) => prepareModelInput(messages, { ...form, maxToolCallsFromHistory });
  return askWithinWindow(
    {
      model,
      toolTokens: toolTokensOf(request),
      maxTokens: options.maxTokens,
      dialect,
      prepare,
      send: (input) => send({ ...request, model: guarded, ...partsOf(input) }),
    },
    config,
  );
}

const knownTokens = new WeakMap<readonly unknown[], number>();

/** The tokens of the schemas of the request's tools. An agent has the same list of tools at each step. */
function toolTokensOf({ tools = [] }: Pick<AgentRequest, "tools">): number {
  const tokens = knownTokens.get(tools) ?? countToolTokens(tools as BindToolsInput[]);
  knownTokens.set(tools, tokens);
  return tokens;
}

/** `initChatModel`, and an agent whose model is a name, have an object that makes the model when it is asked. */
async function resolved(model: object, config: LangGraphRunnableConfig): Promise<object> {
  const resolve: unknown = Reflect.get(model, "_getModelInstance");
  return typeof resolve === "function" ? resolve.call(model, config) : model;
}

/** LangChain sends the system message of the agent first. Many providers accept no second one, so both become one. */
function withSystemFirst(own: SystemMessage, history: readonly BaseMessage[]): readonly BaseMessage[] {
  if (own.text === "") return history;
  const isSystem = (message: BaseMessage) => message.type === "system" && coverageOf(message) === undefined;
  const stored = history.filter(isSystem);
  if (stored.length === 0) return [own, ...history];
  const content = [own, ...stored].flatMap(contentOf);
  return [new SystemMessage({ content }), ...history.filter((message) => !isSystem(message))];
}

/** The fields of the request for an input. LangChain leaves out an empty system message. */
function partsOf(input: BaseMessage[]): Pick<AgentRequest, "messages" | "systemMessage"> {
  const [first, ...messages] = input;
  return first?.type === "system"
    ? { messages, systemMessage: first as SystemMessage }
    : { messages: input, systemMessage: new SystemMessage("") };
}

/** As blocks, because those of the agent can have marks for a provider's prompt cache. */
function contentOf({ content, text }: BaseMessage) {
  if (typeof content !== "string") return content;
  return text === "" ? [] : [{ type: "text" as const, text }];
}

function guardFor(
  model: object,
  history: readonly BaseMessage[],
  { maxStreamFallbackAttempts = FALLBACK_ATTEMPTS }: TetherMiddlewareOptions,
  config: LangGraphRunnableConfig,
): StreamGuardOptions {
  const shown = new Set<string>();
  return {
    maxFallbackAttempts: maxStreamFallbackAttempts,
    habit: finishHabitOf(model),
    isTaken: (id) => shown.has(id) || history.some((message) => message.id === id),
    onShown: (id) => shown.add(id),
    onBroken: ({ reason }) => emitEvent(config, { type: "answer-broken", reason }),
    onRetry: ({ error, ...attempts }) =>
      emitEvent(config, { type: "model-retry", ...attempts, reason: describeFailure(error, model) }),
  };
}

/*
 * A model that an agent of LangChain asks as usual, and that gives only complete responses.
 */

/** Methods of a model that return the same model with more options. */
const BINDING_METHODS: ReadonlySet<unknown> = new Set(["bindTools", "bind", "withConfig"]);

interface ResponseGuard extends StreamGuardOptions {
  /** Contract: returns the ids of the calls that the thread has. */
  readonly takenCallIds: () => ReadonlySet<string>;
}

/**
 * The model itself, with guarded responses. LangChain's agents bind their tools to it, and call `invoke`. As in
 * `createAgentGraph`, it is always asked with `stream`, unless streaming is off for it.
 *
 * The calls of a response get ids that no earlier call of the thread has: some providers repeat theirs, and LangChain
 * does not run a call if the thread has a result with its id.
 */
function guardedModel<Model extends object>(model: Model, guard: ResponseGuard): Model {
  return new Proxy(model, {
    get(target, name) {
      if (name === "invoke") return (...given: InvokeArguments) => invokeGuarded(target, guard, given);
      const value: unknown = Reflect.get(target, name, target);
      // The model of one with bound options. LangChain takes it out, and binds tools to it.
      if (name === "bound" && isModel(value)) return guardedModel(value, guard);
      if (typeof value !== "function") return value;
      if (!BINDING_METHODS.has(name)) return value.bind(target);
      return (...given: unknown[]) => {
        const bound: unknown = value.apply(target, given);
        return isModel(bound) ? guardedModel(bound, guard) : bound;
      };
    },
  });
}

type InvokeArguments = [input: BaseMessage[], options?: Partial<RunnableConfig>];

async function invokeGuarded(
  model: object,
  guard: ResponseGuard,
  [input, options = {}]: InvokeArguments,
): Promise<BaseMessage> {
  const guarded = await guardModel(model as Askable, guard, options);
  // LangChain needs only `invoke`, and many a test has a model without more.
  const answer =
    typeof guarded.stream === "function"
      ? await joinChunks(await guarded.stream(input, options))
      : await guarded.invoke(input, options);
  const message = coerceMessage(answer);
  if (message !== undefined && isAIMessage(message)) {
    return callsOf(message).length === 0 ? message : withDistinctCallIds(message, guard.takenCallIds());
  }
  throw new ModelError("Expected the model's response to be an AI message.");
}

function isModel(value: unknown): value is object {
  return isRecord(value) && "invoke" in value;
}

/*
 * Summaries of a LangChain agent's thread, made as `createAgentGraph` makes them.
 */

/** The options of summaries. They have the names, values and defaults of those of `createAgentGraph`. */
export type TetherSummaryOptions = SummaryOptions;

/** LangChain keeps a key that begins with `_` out of the input and the output of the agent. */
export const ATTEMPT_KEY = "_tetherSummary";

/** A middleware can ask the model several times in one step. Each of these requests writes the same attempt. */
export const summaryAttempt = new ReducedValue(summaryAttemptSchema.optional(), {
  inputSchema: summaryAttemptSchema.optional(),
  reducer: (_former: SummaryAttempt | undefined, latest: SummaryAttempt | undefined) => latest,
});

interface SummaryRequest {
  /** The request to the model, with the messages that other middleware leave of the history. */
  readonly request: AgentRequest;
  /** The history as the thread stores it. */
  readonly stored: readonly BaseMessage[];
  /** The latest attempt; undefined if there was none. */
  readonly attempt: SummaryAttempt | undefined;
  readonly runtime: HookRuntime;
}

/** Contract: resolves to what is written to the thread. Empty if no summary is due. Rejects if the run is aborted. */
type Summarizer = (request: SummaryRequest) => Promise<Pick<AgentUpdate, "messages" | "summaryAttempt">>;

interface SummarizerOptions {
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  readonly maxStreamFallbackAttempts: number;
}

const createModel = cachedCreateModel();

/** @throws InvalidSettingError for an unknown option or a value that cannot be used. */
export function checkSummaryOptions(summary: unknown): void {
  checkSettings(summary, SUMMARY_SETTINGS, "summary");
  const { summaryModel }: TetherSummaryOptions = Object(summary);
  if (summaryModel !== undefined) assertGivenModel("summaryModel", summaryModel, createModel);
}

export function createSummarizer(
  options: TetherSummaryOptions,
  { maxToolCallsFromHistory, maxStreamFallbackAttempts }: SummarizerOptions,
): Summarizer {
  const settings = withDefaults(options);
  const { summaryModel, coveredMessages } = settings;
  const wording = summaryWording(settings.summaryLanguage, {
    heading: settings.summaryHeading,
    instructions: settings.summaryPrompt,
  });
  return async ({ request, stored, attempt, runtime }) => {
    const config = configOf(runtime);
    if (coveredMessages === "archive" && config.store === undefined) throw missingStore();
    const asked = (await resolved(request.model, config)) as Exclude<GivenModel, string>;
    const policy: SummaryPolicy = {
      maxTokens: budgetFor(asked, settings.maxTokensBeforeSummary),
      maxMessages: settings.maxMessagesBeforeSummary,
      messagesToKeep: settings.messagesToKeep,
      tokensToKeep: settings.tokensToKeep,
      maxToolCalls: maxToolCallsFromHistory,
      toolTokens: toolTokensOf(request),
      promptTokens: countTextTokens(request.systemMessage.text),
    };
    const state = { messages: request.messages, summaryAttempt: attempt };
    if (!shouldSummarize(state, policy) || !isWhole(request.messages, stored)) return {};
    return summarizeHistory(
      { messages: [...stored], summaryAttempt: attempt },
      {
        policy,
        wording,
        timeoutMs: settings.summaryTimeoutMs,
        maxStreamFallbackAttempts,
        coveredMessages,
        resolveModel: async () => {
          if (summaryModel === undefined) return asked;
          return typeof summaryModel === "string" ? createModel(summaryModel) : summaryModel;
        },
      },
      config,
    );
  };
}

/**
 * The update that takes archived messages out again, which a client has brought back with its whole list. The input of a
 * run has passed the reducer before any hook.
 */
export async function removeReturned(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  { summary }: { readonly summary?: TetherSummaryOptions | undefined },
): Promise<Record<string, unknown>[]> {
  const threadId = threadIdOf(runtime);
  if (summary?.coveredMessages !== "archive" || runtime.store == null || threadId === undefined) return [];
  const { messages, events } = await findReturned(history, history, runtime.store, threadId);
  for (const event of events) emitEvent(configOf(runtime), event);
  // From the end: a message of calls takes its results with it. Plain objects are not streamed.
  return [...messages].toReversed().map(({ id = "" }) => toPlain(new RemoveMessage({ id })));
}

/** Whether the request has all stored messages. If not, another middleware keeps the input short. */
function isWhole(messages: readonly BaseMessage[], stored: readonly BaseMessage[]): boolean {
  const ids = new Set(messages.map(({ id }) => id));
  return stored.every(({ id }) => ids.has(id));
}

function withDefaults(options: TetherSummaryOptions): SummarySettings {
  const defaults = Object.entries(SUMMARY_SETTINGS).map(([name, row]) => [name, row.default]);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...defaults, ...given]);
}
