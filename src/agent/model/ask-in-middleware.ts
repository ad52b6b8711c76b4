/** A model call inside its run's chat middleware, if there is any. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { MiddlewareError } from "../../errors.js";
import { withoutStaleCalls } from "../../history/change-calls.js";
import type { InputLength } from "../../history/measure.js";
import { cloneMessage, copyMessage, deriveId, isSameMessage } from "../../history/message.js";
import { parseMessages } from "../../history/reducer/messages-schema.js";
import type { FittedInput } from "../../providers/input/bounds.js";
import { sizeOfInput } from "../../providers/input/shorten.js";
import type { GivenModel } from "../../providers/models/create-model.js";
import { deferred } from "../../shared/waiting.js";
import { formFor, type InputForm, reportChanges } from "../../threads/asking/rungs.js";
import { takeBack } from "../../threads/ended-runs/shown-text.js";
import { countToolTokens } from "../../threads/shared-settings.js";
import { asObject, type ChatContext, chatHook, type Hook, type StateUpdate } from "../middleware/contexts.js";
import type { ChatMiddleware, MiddlewareByKind } from "../middleware/middleware.js";
import { MiddlewareTermination, runOnion, type Span } from "../middleware/run-onion.js";
import { runOf, scopeOf } from "../run/handle.js";
import { dialectAt, type ModelChain } from "../settings/models.js";
import type { RunContext } from "../settings/run-context.js";
import { checkOffered, readToolChoice, type ToolChoice, toolName } from "../settings/tools.js";
import { type Settle, streamResponse } from "./ask.js";
import { type ModelRequest, prepareInput } from "./request.js";

export interface ModelResponse extends ChatOutcome {
  /** The choice that was sent. A chat middleware may have changed it. */
  readonly toolChoice: ToolChoice;
  /** The names of the tools that the model was offered. Undefined means all tools of the graph. */
  readonly offered?: readonly string[] | undefined;
  /** The model that was asked last. */
  readonly model: BaseChatModel;
  /** Its position. */
  readonly position: number;
  /** Whether it was offered tools, besides those of a response format. */
  readonly hasTools: boolean;
  /** Whether it responded. Otherwise a chat middleware made the message. */
  readonly hasResponded: boolean;
  readonly updates: readonly StateUpdate[];
}

type Config = LangGraphRunnableConfig<RunContext>;

/** @throws ModelError if there is no complete response, and any error of a chat middleware. */
export async function askForStep(request: ModelRequest, config: Config): Promise<ModelResponse> {
  const { history, toolChoice, input } = request;
  const { middleware } = runOf(config).inputs;
  if (middleware.chat.length > 0) return askWithMiddleware(request, middleware, config);
  const prepare = (form: InputForm) => prepareInput(history, { ...input, ...form }, request);
  const call = { request, prepare, parameters: {}, shown: new Set<string>(), settle: undefined };
  const { response, model, position } = await streamResponse(call, config);
  return {
    message: response,
    isTerminated: false,
    toolChoice,
    model,
    position,
    hasTools: request.tools.length > 0,
    hasResponded: true,
    updates: [],
  };
}

async function askWithMiddleware(
  request: ModelRequest,
  middleware: MiddlewareByKind,
  config: Config,
): Promise<ModelResponse> {
  const { models, history } = request;
  const prepare = (form: InputForm) => prepareInput(history, { ...request.input, ...form }, request);
  let model = await models.make(models.at(models.position));
  const { toolTokens } = request;
  const first = formFor({ model, history, toolTokens, dialect: dialectAt(models.position, models) });
  const input = prepare(first);
  reportChanges(input, first, undefined, config);
  const mayBeServed = middleware.function.length > 0;
  const given = {
    // Copies, so that a middleware's changes do not reach the history.
    messages: input.messages.map(cloneMessage),
    options: { toolChoice: request.toolChoice, parameters: {} },
    model,
    tools: request.tools,
  };
  const hook = chatHook(scopeOf(config), given, (tools) =>
    checkOffered(tools, request.tools, request.formatTools ?? [], mayBeServed),
  );
  const shown = new Set<string>();
  const discarded = new Set<string>();
  let { position } = models;
  let { toolChoice } = request;
  let hasTools = request.tools.length > 0;
  let hasResponded = false;
  const call: ModelCall = async (changed, settle) => {
    const { offered, choice } = offerOf(changed, request);
    toolChoice = choice;
    hasTools = offered.tools.length > 0;
    hasResponded = false;
    const left = parseMessages(changed.fields.messages);
    const added = addedTo(input.messages, left);
    const chain = changed.hasOwn("model") ? beginningWith(changed.fields.model, models) : models;
    const answered = await streamResponse(
      {
        request: { ...request, ...offered, toolChoice, models: chain },
        // Projected again, because a middleware's messages must also keep the provider's rules and the bound. Another
        // model's input is projected from the history, which has what only that model can read.
        prepare: (form) =>
          added === undefined || isFor(form, first)
            ? prepareInput(
                left,
                {
                  ...form,
                  markedTools: request.input.markedTools,
                  length: lengthAfter(input, left, offered.toolTokens - request.toolTokens),
                },
                request,
              )
            : prepareInput([...history, ...added], { ...request.input, ...form }, request),
        parameters: parametersOf(changed.fields),
        shown,
        settle,
      },
      config,
    );
    // A middleware's model for one call says nothing about the run's own model.
    position = changed.hasOwn("model") ? models.position : answered.position;
    model = answered.model;
    hasResponded = true;
    return answered.response;
  };
  const discard = async (response: AIMessage): Promise<void> => {
    if (response.id !== undefined) discarded.add(response.id);
    await takeBack(response, config);
  };
  const { message, isTerminated } = await runModelMiddleware(middleware.chat, hook, call, discard);
  return {
    message: message && withUnremovedId(message, discarded),
    isTerminated,
    toolChoice,
    ...(hook.hasOwn("tools") && { offered: hook.fields.tools.map(toolName) }),
    model,
    position,
    hasTools,
    hasResponded,
    updates: hook.updates,
  };
}

/*
 * What a middleware changes of the call.
 */

/** A request's length after a middleware changed its messages, or its tools by this many tokens. */
function lengthAfter(
  { size, length }: FittedInput,
  left: readonly BaseMessage[],
  tools: number,
): InputLength {
  const tokens = length.tokens + (sizeOfInput(left) - size + tools) * length.ratio;
  return { ...length, tokens: Math.max(tokens, 0), isReported: true };
}

/** A middleware can return a response that clients had and that was taken back. They know its id as removed. */
function withUnremovedId(message: AIMessage, discarded: ReadonlySet<string>): AIMessage {
  const { id } = message;
  return id === undefined || !discarded.has(id)
    ? message
    : copyMessage(message, { id: deriveId(message, id) });
}

/** A call's tools, and whether the model may call them. A middleware cannot turn tools on that are off. */
function offerOf(hook: Hook<ChatContext>, request: ModelRequest) {
  const { tools, options } = hook.fields;
  const wanted = options.toolChoice ?? request.toolChoice;
  // The tools stay declared, because some providers reject a history with calls in a request without tools.
  const isOff = request.toolChoice === "none" || tools.length === 0;
  const declared = tools.length === 0 ? request.tools : tools;
  const toolTokens = hook.hasOwn("tools") && tools.length > 0 ? countToolTokens(tools) : request.toolTokens;
  const choice: ToolChoice = isOff ? "none" : readToolChoice(wanted, tools.map(toolName));
  return { offered: { tools: [...declared], toolTokens }, choice };
}

/** A middleware that replaces all options may leave some out. */
function parametersOf({ options }: Pick<ChatContext, "options">): Readonly<Record<string, unknown>> {
  const { parameters = {} } = options;
  return asObject("context.options.parameters", parameters);
}

/** The chain with another model in first place. */
function beginningWith(given: GivenModel, models: ModelChain): ModelChain {
  return {
    ...models,
    at: (position) => (position === models.position ? given : models.at(position)),
    // A model that is not given by name is used as it is.
    make: async (each) => (each === given && typeof given !== "string" ? given : models.make(each)),
    ownDialect: undefined,
  };
}

/** The system messages that a middleware added. Undefined if it changed anything else. */
function addedTo(given: readonly BaseMessage[], left: readonly BaseMessage[]): BaseMessage[] | undefined {
  const added = left.slice(given.length);
  const isUntouched = given.every((message, index) => isSameMessage(message, left[index]));
  return isUntouched && added.every(({ type }) => type === "system") ? added : undefined;
}

function isFor(form: InputForm, { dialect, client, host, modelId }: InputForm): boolean {
  return form.dialect === dialect && form.client === client && form.host === host && form.modelId === modelId;
}

/*
 * The middleware around the stream of a response.
 */

/**
 * Contract: makes the model call that the fields describe, and resolves to its response. With `settle`, the client
 * gets nothing before `settle` has resolved, and the response is what `settle` resolved to.
 */
type ModelCall = (hook: Hook<ChatContext>, settle: Settle | undefined) => Promise<AIMessage>;

interface ChatOutcome {
  /** Undefined if a middleware ended the run without a result. */
  readonly message: AIMessage | undefined;
  /** Whether the run ends with this message. */
  readonly isTerminated: boolean;
}

/**
 * All listeners of the model's stream, including tracers, see the request that was sent and the final response. A
 * replaced response leaves no trace, because the stream waits for the middleware before it ends:
 *
 * ```text
 *  client            model stream             settle             middleware
 *    │                    │ ◄───────────────────────────────── next() ─┤
 *    │                    │ receives all pieces                        │ waits
 *    │                    ├─ response ──────► │ ─── resolves next() ─► │
 *    │                    │ waits             │ waits                  │ may change the result
 *    │                    │ ◄ final response ─┤ ◄──────────── returns ─┤
 *    │ ◄─ final response ─┤ ends              │                        │
 * ```
 *
 * If all middleware is read-only, `settle` is undefined. The client receives each piece as it arrives, and `next()`
 * resolves after the stream has ended.
 *
 * A middleware with `retry` can repeat the call. The earlier response is then discarded: its stream ends with an error
 * that only its listeners see. If the client already has it, `discard` takes it back.
 *
 * @param discard Contract: takes back a response that clients have but the history does not.
 * @throws MiddlewareError for a broken contract, and any error of a middleware or the model.
 */
async function runModelMiddleware(
  layers: readonly ChatMiddleware[],
  hook: Hook<ChatContext>,
  call: ModelCall,
  discard: (response: AIMessage) => Promise<void>,
): Promise<ChatOutcome> {
  const mayChange = layers.some(({ readOnly }) => !readOnly);
  let attempt: Attempt | undefined;
  const core = async (): Promise<void> => {
    const current = beginAttempt((settle) => call(hook, mayChange ? settle : undefined));
    attempt = current;
    current.response = await current.answered;
    hook.settle({ result: cloneMessage(current.response) });
  };
  const drop = async (): Promise<void> => {
    const { response, streamed, end } = attempt ?? {};
    attempt = undefined;
    end?.(undefined);
    await streamed;
    if (response !== undefined && !mayChange) await discard(response);
  };
  const onRetry = (written: Span): Promise<void> => {
    hook.beginAttempt(written, { result: undefined });
    return drop();
  };
  const exit = await runOnion({ layers, core, onRetry, updates: hook.updates }, hook.view);
  try {
    if (exit.kind === "threw") throw exit.error;
    const given = hook.fields.result && cloneMessage(hook.fields.result);
    const response = attempt?.response;
    if (response !== undefined && !mayChange && !isSameMessage(given, response))
      throw new MiddlewareError(CHANGED);
    if (given === undefined && exit.kind === "returned") throw new MiddlewareError(MISSING);
    const message = given && response ? withoutStaleCalls(given, response) : given;
    attempt?.end(message);
    const streamed = await attempt?.streamed;
    return { message: message && (streamed ?? message), isTerminated: exit.kind === "terminated" };
  } catch (error) {
    await drop();
    throw error;
  }
}

interface Attempt {
  /** Resolves to the complete response of the model. */
  readonly answered: Promise<AIMessage>;
  /** The same, once the middleware has seen it. */
  response?: AIMessage;
  /**
   * Resolves when the stream has ended. If the stream waited for the middleware, resolves to the message that clients
   * have, with the id that they know. Never rejects.
   */
  readonly streamed: Promise<AIMessage | undefined>;
  /** Lets the stream end with this message. Undefined: with an error that only its listeners see. */
  readonly end: (message: AIMessage | undefined) => void;
}

function beginAttempt(call: (settle: Settle) => Promise<AIMessage>): Attempt {
  const ended = deferred<AIMessage | undefined>();
  const settled = deferred<AIMessage>();
  let hasSettled = false;
  const streaming = call(async (whole) => {
    hasSettled = true;
    settled.resolve(whole);
    const message = await ended.promise;
    if (message === undefined) throw new MiddlewareTermination();
    return message;
  });
  const streamed = streaming.then(
    (message) => (hasSettled ? message : undefined),
    () => undefined,
  );
  return { answered: Promise.race([settled.promise, streaming]), streamed, end: ended.resolve };
}

const CHANGED =
  "A chat middleware made with `{ readOnly: true }` changed `context.result`, which the client already has.";
const MISSING = "The chat middleware left no `context.result`.";
