/** What middleware functions get: a context for each kind of hook. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { BaseStore, Interrupt } from "@langchain/langgraph";
import { InvalidMessageError, InvalidSettingError, MiddlewareError } from "../../errors.js";
import { isAIMessage } from "../../history/call.js";
import { cloneMessage, copyMessage } from "../../history/message.js";
import { unansweredCalls } from "../../history/open-calls.js";
import { coerceMessage } from "../../history/read-messages.js";
import { parseMessages } from "../../history/reducer/messages-schema.js";
import { isResult } from "../../history/result.js";
import { assertPlainModel, parseModelName } from "../../providers/models/create-model.js";
import { didYouMean } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import type { RunContext } from "../settings/run-context.js";
import type { ToolChoice } from "../settings/tools.js";
import type { Span } from "./run-onion.js";

/** What all middleware of one run shares. It is empty when a run begins or resumes. */
export interface RunBag {
  metadata: Record<string, unknown>;
}

/** The run that a context belongs to. */
export interface RunScope {
  readonly bag: RunBag;
  readonly threadId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly store: BaseStore | undefined;
  /** The `context` of the run, with the caller's own keys. */
  readonly context: object;
  /** Contract: reads the state without its private channels. Called only when a middleware asks for it. */
  readonly readState: () => StateView;
  /** The keys of the state that a middleware can write. */
  readonly stateKeys: readonly string[];
  /** Contract: sends a value to the run's `custom` stream. Must not throw. */
  readonly write: (value: unknown) => void;
}

/** The state as a middleware reads it. */
export interface StateView {
  /** The history of the thread. */
  readonly messages: readonly BaseMessage[];
  readonly [key: string]: unknown;
}

/** The `context` of a run as a middleware reads it: the settings of the run, and the caller's own keys. */
export interface ContextView extends Readonly<RunContext> {
  readonly [key: string]: unknown;
}

/** The fields that every middleware context has. */
interface MiddlewareContext<State extends object = StateView, Context extends object = ContextView> {
  /** The `thread_id` of the run; undefined in a run without a thread. */
  readonly threadId: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** The long-term memory of the graph; undefined if it has none. */
  readonly store: BaseStore | undefined;
  /** A copy of the thread's current state. Changes to it have no effect: see `update`. */
  readonly state: State;
  /** The `context` that the run was started with. It is read-only. */
  readonly context: Context;
  /** Sends a value to the clients that read the run's `custom` stream. */
  readonly writer: (value: unknown) => void;
  /** An object for notes, shared by all middleware of the run. It is empty when the run begins, and is not stored. */
  metadata: Record<string, unknown>;
}

/** One run of the graph, whichever method started it. */
export interface AgentContext<State extends object = StateView, Context extends object = ContextView>
  extends MiddlewareContext<State, Context> {
  /** Whether the run was started with `stream` or `streamEvents`, as the server does. False for `invoke`. */
  readonly stream: boolean;
  /** After `next()`: the questions that the run waits for. Empty if it does not wait for a human. */
  readonly interrupts: readonly Interrupt[];
  /**
   * The messages of the run's input. Empty if the run continues where another stopped. A middleware can change them
   * before `next()`.
   *
   * @throws InvalidMessageError if it is set to a value that is not a list.
   */
  messages: BaseMessage[];
  /**
   * The settings that the run chose in its `context`. A middleware can change them before `next()`, and they are
   * checked again.
   *
   * @throws InvalidSettingError if it is set to a value that is not an object.
   */
  options: RunContext;
  /**
   * After `next()`: the last message of the run. A middleware can set an assistant message or a text, which becomes the
   * final response of the run.
   *
   * @throws MiddlewareError if it is set to a value that is neither an assistant message nor a text.
   */
  get result(): BaseMessage | undefined;
  set result(value: BaseMessage | string | undefined);
}

/** The options of one model call that a chat middleware can change. */
export interface ChatOptions {
  /** Whether the model may, must or must not call a tool. `"none"` cannot be changed: tools stay off. */
  toolChoice: ToolChoice;
  /** Parameters of the model for this call, such as `temperature`, under the names of its LangChain client. */
  parameters: Record<string, unknown>;
}

/** One model call. */
export interface ChatContext<State extends object = StateView, Context extends object = ContextView>
  extends MiddlewareContext<State, Context> {
  /**
   * The model of this call. A middleware can set another chat model, or its name as `provider:model`. The input then
   * follows that provider's rules. The next call has the run's model again.
   *
   * @throws InvalidModelError for a name that cannot be resolved.
   * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
   * fallbacks.
   */
  model: BaseChatModel | string;
  /**
   * The tools that the model can call: the graph's `tools` and `additionalTools`. A middleware can set another list for
   * this call. The list may contain the graph's tools and, if the run has function middleware, other tools whose calls
   * that middleware answers. Calls of tools outside the list are not run. An empty list switches tools off.
   *
   * @throws InvalidToolError for a tool that the graph cannot run and that no function middleware can answer, a name
   * that a provider would refuse, or two tools with one name.
   */
  tools: readonly BindToolsInput[];
  /** Which attempt this is. The first is 1. It grows when a middleware with `retry` calls `next()` again. */
  readonly attempt: number;
  /**
   * The model input of this call. Changes reach the model, but not the history.
   *
   * @throws InvalidMessageError if it is set to a value that is not a list.
   */
  messages: BaseMessage[];
  /**
   * The options of this call. Their fields are checked when the model is called.
   *
   * @throws InvalidSettingError if it is set to a value that is not an object.
   */
  options: ChatOptions;
  /**
   * After `next()`: the model's complete response. A middleware can set an assistant message or a text, which is stored
   * and streamed in its place.
   *
   * @throws MiddlewareError if it is set to a value that is neither an assistant message nor a text.
   */
  get result(): AIMessage | undefined;
  set result(value: BaseMessage | string | undefined);
  /**
   * Writes to the state, together with the response. `messages` go through the reducer: those written before `next()`
   * come before the response, the others after it. Of several values for another key, the last one is written, or all
   * of them if the key has a reducer. If the model call fails, nothing is written.
   *
   * @throws InvalidSettingError for a key that the state does not have.
   * @throws InvalidMessageError for a value in `messages` that is not a message.
   */
  update(changes: Readonly<Record<string, unknown>>): void;
}

/** A tool call as the model made it. */
export interface FunctionCall {
  /** The id that the provider set. */
  readonly id: string;
  readonly name: string;
  /** The parsed arguments. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** One tool call. */
export interface FunctionContext<State extends object = StateView, Context extends object = ContextView>
  extends MiddlewareContext<State, Context> {
  /** The tool call as the model made it. */
  readonly call: FunctionCall;
  /**
   * The tool that runs the call. Undefined if the graph has no such tool, or if the model was not offered it. A
   * middleware can answer such a call with `context.result`. Otherwise the result after `next()` says that there is no
   * such tool.
   */
  readonly tool: StructuredToolInterface | undefined;
  /**
   * The arguments that the tool gets. A middleware can change them before `next()`. The tool's schema then checks them
   * again.
   */
  arguments: Record<string, unknown>;
  /** Which attempt this is. The first is 1. It grows when a middleware with `retry` calls `next()` again. */
  readonly attempt: number;
  /**
   * After `next()`: what the tool threw in the last attempt. Undefined if it returned. After a timeout, the error has
   * the name `ToolTimeoutError`.
   */
  readonly error: unknown;
  /**
   * After `next()`: the result of the tool call. Its `status` is `"error"` if the tool failed. A middleware can set a
   * `ToolMessage` or a text, which becomes the result in its place.
   *
   * @throws MiddlewareError if it is set to a value that is neither a `ToolMessage` nor a text.
   */
  get result(): ToolMessage | undefined;
  set result(value: BaseMessage | string | undefined);
  /**
   * Writes to the state, together with the call's result. `messages` go through the reducer, like those of a tool's
   * `Command`.
   *
   * @throws InvalidSettingError for a key that the state does not have.
   * @throws InvalidMessageError for a value in `messages` that is not a message.
   */
  update(changes: Readonly<Record<string, unknown>>): void;
}

/*
 * One class makes the contexts of all three kinds.
 */

type Kind = "agent" | "chat" | "function";
type Writable<Context> = { -readonly [Field in keyof Context]: Context[Field] };
/** The fields that only this kind has. */
type OwnFields<Context> = Omit<Writable<Context>, keyof MiddlewareContext | "attempt" | "update">;
/** Contract: returns the value that the field gets, or throws. A field without a setter cannot be changed. */
type Setters = Readonly<Record<string, (value: unknown) => unknown>>;

/** A context with two sides: the library sets its fields freely, and middleware sees a guarded view. */
export class Hook<Context extends object> {
  readonly fields: Writable<Context>;
  readonly view: Context;
  readonly updates: StateUpdate[] = [];
  readonly #given: Readonly<Record<string, unknown>>;
  #attempt = 1;
  #hasOutcome = false;

  constructor(kind: Kind, scope: RunScope, own: OwnFields<Context>, setters: Setters) {
    this.#given = { ...own };
    const update = (changes: unknown) => {
      this.updates.push({ ...readStateUpdate(changes, scope.stateKeys), isAfter: this.#hasOutcome });
    };
    const ofCall = kind === "agent" ? {} : { attempt: 1, update };
    this.fields = Object.assign(sharedFields(scope), ofCall, own) as unknown as Writable<Context>;
    this.view = guardWrites(this.fields, kind, { metadata: (value) => value, ...setters }) as Context;
  }

  /** Whether a middleware has set another value. */
  hasOwn(name: keyof OwnFields<Context> & string): boolean {
    return this.fields[name as keyof Context] !== this.#given[name];
  }

  /** Takes the outcome of what the middleware wraps. */
  settle(outcome: Partial<OwnFields<Context>>): void {
    this.#hasOutcome = true;
    Object.assign(this.fields, outcome);
  }

  /**
   * Called before another attempt.
   *
   * @param written What inner middleware wrote in the last attempt.
   * @param fields The fields' values until the new attempt has settled.
   */
  beginAttempt({ from, to }: Span, fields: Partial<OwnFields<Context>>): void {
    this.updates.splice(from, to - from);
    this.#hasOutcome = false;
    this.#attempt += 1;
    Object.assign(this.fields, { attempt: this.#attempt }, fields);
  }
}

function sharedFields({ threadId, signal, store, bag, write, ...scope }: RunScope): MiddlewareContext {
  return {
    threadId,
    signal,
    store,
    get state() {
      return copyOfState(scope.readState());
    },
    context: Object.freeze({ ...scope.context }),
    writer: write,
    get metadata() {
      return bag.metadata;
    },
    set metadata(metadata) {
      bag.metadata = metadata;
    },
  };
}

/**
 * Messages and their blocks are copied, so that a middleware's changes do not reach the thread. A deep copy of each
 * message would cost more than 50 ms in a long thread.
 */
function copyOfState({ messages, ...own }: StateView): StateView {
  const copies = messages.map((message) => {
    const { content } = message;
    return copyMessage(
      message,
      Array.isArray(content) ? { content: content.map((block) => ({ ...block })) } : {},
    );
  });
  return Object.freeze({ ...own, messages: Object.freeze(copies) });
}

/** The context as middleware gets it. Fields without a setter cannot be changed, and new fields cannot be added. */
function guardWrites(context: object, kind: Kind, setters: Setters): object {
  const changeable = Object.keys(setters).sort();
  const refuse = (name: string | symbol): never => {
    const question = name in context ? "" : didYouMean(String(name), changeable);
    throw new MiddlewareError(
      `\`context.${String(name)}\` cannot be changed.${question} A middleware of the kind \`${kind}\` can change: ${changeable.join(", ")}.`,
    );
  };
  return new Proxy(context, {
    set: (target, name, value) => {
      const read = Object.hasOwn(setters, name) ? setters[String(name)] : undefined;
      return read === undefined ? refuse(name) : Reflect.set(target, name, read(value));
    },
    defineProperty: (_target, name) => refuse(name),
    deleteProperty: (_target, name) => refuse(name),
  });
}

export function agentHook(scope: RunScope, given: Pick<AgentContext, "stream" | "messages" | "options">) {
  const fields = { ...given, interrupts: [], result: undefined };
  const setters = { messages: asMessages, options: asOptions, result: asResponse };
  return new Hook<AgentContext>("agent", scope, fields, setters);
}

/** @param checkTools Contract: returns the tools, or throws an error that names the first one that cannot be offered. */
export function chatHook(
  scope: RunScope,
  given: Pick<ChatContext, "messages" | "options" | "model" | "tools">,
  checkTools: (tools: unknown) => readonly BindToolsInput[],
) {
  const fields = { ...given, tools: Object.freeze([...given.tools]), result: undefined };
  return new Hook<ChatContext>("chat", scope, fields, {
    messages: asMessages,
    options: asOptions,
    model: asModel,
    tools: (value) => Object.freeze([...checkTools(value)]),
    result: asResponse,
  });
}

export function functionHook(scope: RunScope, { call, tool }: Pick<FunctionContext, "call" | "tool">) {
  const fields = {
    // Copies, because a middleware's changes must not reach the history.
    call: Object.freeze({ ...call, args: Object.freeze(structuredClone(call.args)) }),
    arguments: structuredClone(call.args),
    tool,
    error: undefined,
    result: undefined,
  };
  return new Hook<FunctionContext>("function", scope, fields, {
    arguments: (value) => value,
    result: (value) => (value === undefined ? undefined : toResult(value, call)),
  });
}

/*
 * What the fields can be set to.
 */

/** Checks only that the value is a list. Its entries become messages when they are read. */
function asMessages(value: unknown): unknown {
  if (Array.isArray(value)) return value;
  throw new InvalidMessageError("context.messages", value, "a list of messages");
}

function asOptions(value: unknown): unknown {
  return asObject("context.options", value);
}

/** @throws InvalidSettingError for a value that is not an object. The error names `place`. */
export function asObject<Value>(place: string, value: Value): Value {
  if (isRecord(value)) return value;
  throw InvalidSettingError.expected(place, "an object", value);
}

function asModel(model: unknown): unknown {
  if (typeof model === "string") parseModelName(model, "context.model");
  else assertPlainModel("context.model", model);
  return model;
}

/** @throws MiddlewareError for a value that is neither an assistant message nor a text. */
function asResponse(value: unknown): AIMessage | undefined {
  if (value === undefined) return undefined;
  const message = typeof value === "string" ? new AIMessage(value) : coerceMessage(value);
  if (message !== undefined && isAIMessage(message)) return message;
  const got =
    message === undefined ? `value of type \`${typeof value}\`` : `message of type \`${message.type}\``;
  throw new MiddlewareError(
    `Expected \`context.result\` to be an assistant message or a text, got a ${got}.`,
  );
}

function toResult(value: unknown, { id, name }: FunctionCall): ToolMessage {
  const given =
    typeof value === "string"
      ? new ToolMessage({ content: value, tool_call_id: id, name })
      : coerceMessage(value);
  if (given !== undefined && isResult(given)) return given;
  throw new MiddlewareError(
    `Expected \`context.result\` of a function middleware to be a \`ToolMessage\` or a text, got a value of type \`${given?.type ?? typeof value}\`.`,
  );
}

/*
 * What a middleware writes to the state with `context.update`.
 */

export interface StateUpdate {
  readonly isAfter: boolean;
  readonly messages: readonly BaseMessage[];
  /** The other keys of the state. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * @param keys The keys of the state.
 * @throws InvalidSettingError for a value that is not an object, or a key that the state does not have.
 * @throws InvalidMessageError for a value in `messages` that is not a message.
 * @throws MiddlewareError for a message with tool calls but without their results. Only calls of the model are run.
 */
function readStateUpdate(changes: unknown, keys: readonly string[]): Omit<StateUpdate, "isAfter"> {
  const { messages: given, ...fields } = asObject("context.update", changes) as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (keys.includes(name)) continue;
    const known = didYouMean(name, keys) || ` The keys are: ${keys.join(", ")}.`;
    throw new InvalidSettingError(
      name,
      `\`context.update\` got \`${name}\`, which is no key of the state.${known}`,
    );
  }
  // Copies, because the middleware can change its messages later.
  const messages = given === undefined ? [] : parseMessages(given).map(cloneMessage);
  const [open] = unansweredCalls(messages).all;
  if (open !== undefined) {
    throw new MiddlewareError(
      `\`context.update\` got a message with a call of \`${open.call.name}\` without its result. Only calls of the model are run.`,
    );
  }
  return { messages, fields };
}
