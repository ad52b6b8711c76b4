/** A LangChain agent's model call: its input, and the guard of its response. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { ModelError } from "../errors.js";
import { callsOf, isAIMessage } from "../history/call.js";
import { withDistinctCallIds } from "../history/change-calls.js";
import { coerceMessage } from "../history/read-messages.js";
import { withUnusedId } from "../history/reducer/taken-ids.js";
import { callIdOf, isResult } from "../history/result.js";
import { countMarkedTools } from "../providers/contract/text-fields.js";
import { prepareModelInput } from "../providers/input/to-model-input.js";
import { cachesToolChoice } from "../providers/models/tools.js";
import type { StreamGuardOptions } from "../providers/response/ask-client.js";
import { type Askable, askGuarded, madeModel } from "../providers/response/guard-model.js";
import { isRecord, madeOnce } from "../shared/values.js";
import {
  askByRungs,
  type FurtherRequests,
  formFor,
  furtherRequestsOf,
  type InputForm,
  responseGuard,
  tellClosedCalls,
} from "../threads/asking/rungs.js";
import { countToolTokens, FALLBACK_ATTEMPTS, MODEL_IDLE_TIMEOUT } from "../threads/shared-settings.js";
import { createUsageCounter } from "../threads/usage.js";
import type { TetherMiddlewareOptions } from "./options.js";
import { seenRun } from "./seen-run.js";

/** The fields of LangChain's request that this middleware reads and changes. */
export interface AgentRequest {
  readonly model: object;
  readonly messages: BaseMessage[];
  readonly systemMessage: SystemMessage;
  readonly tools?: readonly unknown[];
  readonly toolChoice?: unknown;
  readonly responseFormat?: unknown;
  readonly modelSettings?: unknown;
  readonly state: { readonly messages: readonly BaseMessage[] };
}

/** By thread, because another middleware can ask several models in one step, or one model several times. */
const furtherRequests = new WeakMap<readonly BaseMessage[], FurtherRequests>();

/**
 * Asks the request's model with a history that it accepts. A sound history is passed on as it is.
 *
 * @param send Contract: asks the model of the given request, with these messages.
 * @throws The error of the model's client, as it is.
 * @throws ModelError if the model gives no complete response.
 */
export async function askForAgent<Request extends AgentRequest, Answer>(
  request: Request,
  history: readonly BaseMessage[],
  options: TetherMiddlewareOptions,
  config: LangGraphRunnableConfig,
  send: (request: Request) => Promise<Answer>,
): Promise<Answer> {
  const { dialect, maxToolCallsFromHistory } = options;
  const model = await madeModel(request.model, config);
  // Another middleware can leave messages out of the request.
  const { messages: thread } = request.state;
  const { tally } = seenRun(config);
  const usage = createUsageCounter(model, tally);
  const guard = {
    ...responseGuard(
      { model, ...limitsOf(options), thread, shown: new Set(), keepsShown: true, usage },
      config,
    ),
    count: (whole: AIMessage) => {
      usage.addResponse(whole);
      tally.addResponse(whole);
    },
    keepsErrors: true,
    takenCallIds: () => answeredIds(thread, history),
  };
  // Measured as stored: the reports are for a request with the system message and the tools.
  const messages = withPrompt(request.systemMessage, history);
  const markedTools = countMarkedTools(request.tools ?? []);
  const prepare = (form: InputForm) =>
    prepareModelInput(messages, { ...form, maxToolCallsFromHistory, markedTools });
  const further = madeOnce(furtherRequests, request.state.messages, () =>
    furtherRequestsOf(request.state.messages),
  );
  tellClosedCalls(history, { model, dialect, onRepair: options.onRepair }, config);
  const { tools = [], toolChoice, responseFormat, modelSettings } = request;
  return askByRungs(
    {
      model,
      history,
      toolTokens: toolTokensOf(request),
      maxTokens: options.maxTokens,
      dialect,
      further,
      options: { tools, toolChoice, responseFormat, modelSettings },
      prepare,
      send: (messages, mark) => {
        const guarded = guardedModel(model, { ...guard, mark: (whole) => withUnusedId(mark(whole), thread) });
        return send({ ...request, model: guarded, ...requestParts(messages, request) });
      },
    },
    config,
  );
}

/**
 * Asks the request's model for a summary at the end of these messages, so that the request begins like the last one.
 *
 * @param send As in {@link askForAgent}.
 * @throws As {@link askForAgent}, and if the model cannot get all these messages in full.
 */
export async function askForSummary<Request extends AgentRequest>(
  request: Request,
  messages: readonly BaseMessage[],
  maxFallbackAttempts: number,
  options: TetherMiddlewareOptions,
  config: LangGraphRunnableConfig,
  send: (request: Request) => Promise<unknown>,
): Promise<BaseMessage | undefined> {
  const model = await madeModel(request.model, config);
  const { tags, metadata, runName, signal } = config;
  let isAsked = false;
  const limits = { ...limitsOf(options), maxFallbackAttempts };
  const usage = createUsageCounter(model, seenRun(config).tally);
  const guarded = guardedModel(model, {
    ...responseGuard({ model, ...limits, thread: [], shown: new Set(), keepsShown: false, usage }, config),
    count: usage.addResponse,
    keepsErrors: true,
    wants: "whole-text",
    takenCallIds: () => new Set(),
    optionsOf: (given) => {
      isAsked = true;
      return { ...given, ...({ tags, metadata, runName, signal } as Partial<RunnableConfig>) };
    },
  });
  const toolTokens = toolTokensOf(request);
  const { dialect } = options;
  const form = formFor({ model, history: messages, toolTokens, dialect });
  const markedTools = countMarkedTools(request.tools ?? []);
  const input = prepareModelInput(withPrompt(request.systemMessage, messages), { ...form, markedTools });
  if (input.changes.length > 0) return undefined;
  const keepsChoice = (request.toolChoice ?? "auto") === "auto" && cachesToolChoice(model);
  const hasTools = (request.tools ?? []).length > 0;
  const toolChoice = keepsChoice || !hasTools ? request.toolChoice : "none";
  const parts = requestParts(input.messages as BaseMessage[], request);
  const response = await send({ ...request, model: guarded, toolChoice, ...parts });
  // If a middleware replaces the response, it is not a summary.
  return isAsked ? coerceMessage(response) : undefined;
}

function limitsOf({
  maxStreamFallbackAttempts: maxFallbackAttempts = FALLBACK_ATTEMPTS,
  modelIdleTimeoutMs: idleTimeoutMs = MODEL_IDLE_TIMEOUT,
}: TetherMiddlewareOptions) {
  return { maxFallbackAttempts, idleTimeoutMs };
}

export function toolTokensOf({ tools = [] }: Pick<AgentRequest, "tools">): number {
  return countToolTokens(tools as BindToolsInput[]);
}

/** LangChain sends the agent's system message first. */
function withPrompt(own: SystemMessage, history: readonly BaseMessage[]): readonly BaseMessage[] {
  return own.text === "" ? history : [own, ...history];
}

/**
 * An input's request fields. LangChain leaves out an empty system message. It copies every system message but its own,
 * so an empty one is returned as it is.
 */
function requestParts(
  input: BaseMessage[],
  { systemMessage: own }: AgentRequest,
): Pick<AgentRequest, "messages" | "systemMessage"> {
  const [first] = input;
  // LangChain leaves out a system message whose text it cannot read.
  if (first?.type === "system" && first.text !== "")
    return { messages: input.slice(1), systemMessage: first as SystemMessage };
  return { messages: input, systemMessage: own.text === "" ? own : new SystemMessage("") };
}

/** The ids of earlier calls, all of which have results by now. */
function answeredIds(...lists: readonly (readonly BaseMessage[])[]): ReadonlySet<string> {
  return new Set(lists.flatMap((messages) => messages.filter(isResult).map(callIdOf)));
}

/*
 * A model that a LangChain agent asks as usual, and that gives only complete responses.
 */

/** Methods of a model that return the same model with more options. */
const BINDING_METHODS: ReadonlySet<unknown> = new Set(["bindTools", "bind", "withConfig"]);

interface ResponseGuard extends StreamGuardOptions {
  /** Contract: returns the ids of the calls that have results in the thread. */
  readonly takenCallIds: () => ReadonlySet<string>;
  /** Contract: called for each complete response. */
  readonly count: (response: AIMessage) => void;
  /** Contract: returns the response to store instead of this one. */
  readonly mark?: (response: AIMessage) => AIMessage;
  /** Contract: called for each request. Returns the options that replace the agent's. */
  readonly optionsOf?: (given: Partial<RunnableConfig>) => Partial<RunnableConfig>;
}

/**
 * The model itself, with guarded responses. LangChain's agents bind their tools to it, and call `invoke`.
 *
 * A response's calls get ids that no earlier call in the thread has. Some providers repeat theirs, and LangChain does
 * not run a call if the thread has a result with its id.
 */
function guardedModel<Model extends object>(model: Model, guard: ResponseGuard): Model {
  return new Proxy(model, {
    get(target, name) {
      if (name === "invoke") return (...given: InvokeArguments) => invokeGuarded(target, guard, given);
      const value: unknown = Reflect.get(target, name, target);
      // The model inside one with bound options. LangChain takes it out and binds tools to it.
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
  [input, given = {}]: InvokeArguments,
): Promise<BaseMessage> {
  const options = guard.optionsOf?.(given) ?? given;
  const message = coerceMessage(await askGuarded(model as Askable, guard, input, options));
  if (message !== undefined && isAIMessage(message)) {
    guard.count(message);
    const marked = guard.mark?.(message) ?? message;
    return callsOf(marked).length === 0 ? marked : withDistinctCallIds(marked, guard.takenCallIds());
  }
  throw new ModelError("Expected the model's response to be an AI message.");
}

function isModel(value: unknown): value is object {
  return isRecord(value) && "invoke" in value;
}
