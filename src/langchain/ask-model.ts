/** One model call of an agent: the input that the model gets, and the guard of its response. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf } from "../history/messages/call.js";
import { coverageOf } from "../history/messages/summary.js";
import { askWithinWindow, type InputForm } from "../nodes/model/ask-within-window.js";
import { emitEvent } from "../nodes/run/agent-event.js";
import { finishHabitOf } from "../providers/answer/finish-habit.js";
import type { StreamGuardOptions } from "../providers/answer/stream-guard.js";
import { describeFailure } from "../providers/failure/model-failure.js";
import { prepareModelInput } from "../providers/input/to-model-input.js";
import { countToolTokens } from "../settings/summary-policy.js";
import { guardedModel } from "./guarded-model.js";
import type { TetherMiddlewareOptions } from "./options.js";

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
export function toolTokensOf({ tools = [] }: Pick<AgentRequest, "tools">): number {
  const tokens = knownTokens.get(tools) ?? countToolTokens(tools as BindToolsInput[]);
  knownTokens.set(tools, tokens);
  return tokens;
}

/** `initChatModel`, and an agent whose model is a name, have an object that makes the model when it is asked. */
export async function resolved(model: object, config: LangGraphRunnableConfig): Promise<object> {
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
