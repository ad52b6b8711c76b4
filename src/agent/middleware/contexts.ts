/** What the functions of middleware get: a context for each kind of hook. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, isBaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { BaseStore, Interrupt } from "@langchain/langgraph";
import { InvalidMessageError, InvalidSettingError, MiddlewareError } from "../../errors.js";
import { isAIMessage } from "../../history/call.js";
import { cloneMessage } from "../../history/message.js";
import { parseMessages } from "../../history/messages-schema.js";
import { unansweredCalls } from "../../history/open-calls.js";
import { coerceMessage } from "../../history/read-messages.js";
import { isResult } from "../../history/result.js";
import { assertPlainModel, parseModelName } from "../../providers/models/create-model.js";
import { hintAtClass } from "../../shared/check-settings.js";
import { didYouMean } from "../../shared/text.js";
import { isPlainObject, isRecord } from "../../shared/values.js";
import type { RunContext } from "../settings/run-context.js";
import type { ToolChoice } from "../settings/tools.js";
import type { Layer, Span } from "./run-onion.js";

/** What all middleware of one run shares. It is empty at the beginning of each run, even of a resumed one. */
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
  /** Contract: reads the state without its private channels. Called when a middleware asks for it. */
  readonly readState: () => object;
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
class MiddlewareContext<State extends object = StateView, Context extends object = ContextView> {
  /** The `thread_id` of the run; undefined in a run without a thread. */
  readonly threadId: string | undefined;
  /** Aborts when the run is aborted. */
  readonly signal: AbortSignal | undefined;
  /** The long-term memory of the graph; undefined if it has none. */
  readonly store: BaseStore | undefined;
  readonly #scope: RunScope;
  #context: Context | undefined;

  constructor(scope: RunScope) {
    this.#scope = scope;
    this.threadId = scope.threadId;
    this.signal = scope.signal;
    this.store = scope.store;
  }

  /** The state of the thread at this moment, to read. A change in it is a `MiddlewareError`. */
  get state(): State {
    return readOnlyView(this.#scope.readState(), "context.state") as State;
  }

  /** The `context` that the run was started with, to read. A change in it is a `MiddlewareError`. */
  get context(): Context {
    this.#context ??= readOnlyView(this.#scope.context, "context.context") as Context;
    return this.#context;
  }

  /** Sends a value to the clients that read the run's `custom` stream. */
  get writer(): (value: unknown) => void {
    return this.#scope.write;
  }

  /** An object for notes, shared by all middleware of the run. It is empty when the run begins, and is not stored. */
  get metadata(): Record<string, unknown> {
    return this.#scope.bag.metadata;
  }

  set metadata(metadata: Record<string, unknown>) {
    this.#scope.bag.metadata = metadata;
  }
}

/**
 * Checks only that the value is a list. Its entries are converted to messages when they are read.
 *
 * @throws InvalidMessageError for a value that is not a list.
 */
function asMessages<Messages>(value: Messages): Messages {
  if (Array.isArray(value)) return value;
  throw new InvalidMessageError("context.messages", value, "a list of messages");
}

/** @throws InvalidSettingError for a value that is not an object. The error names `place`. */
export function asObject<Value>(place: string, value: Value): Value {
  if (isRecord(value)) return value;
  throw InvalidSettingError.expected(place, "an object", value);
}

/** @throws MiddlewareError for a value that is neither an assistant message nor a text. */
function toAnswer(value: unknown): AIMessage {
  const message = typeof value === "string" ? new AIMessage(value) : coerceMessage(value);
  if (message !== undefined && isAIMessage(message)) return message;
  throw new MiddlewareError(
    `Expected \`context.result\` to be an assistant message or a text, got ${describe(message ?? value)}.`,
  );
}

function describe(value: unknown): string {
  return isMessageLike(value) ? `a message of type \`${value.type}\`` : `a value of type \`${typeof value}\``;
}

function isMessageLike(value: unknown): value is BaseMessage {
  return typeof value === "object" && value !== null && "type" in value && "content" in value;
}

interface AgentFields extends RunScope {
  readonly messages: BaseMessage[];
  readonly options: RunContext;
  readonly isStreamed: boolean;
}

/** One run of the graph, whichever method started it. */
export class AgentContext<
  State extends object = StateView,
  Context extends object = ContextView,
> extends MiddlewareContext<State, Context> {
  /** Whether the run was started with `stream` or `streamEvents`, as the server does. False for `invoke`. */
  readonly stream: boolean;
  #interrupts: readonly Interrupt[] = [];
  #messages: BaseMessage[];
  #options: RunContext;
  #result: BaseMessage | undefined;

  constructor({ messages, options, isStreamed, ...scope }: AgentFields) {
    super(scope);
    this.#messages = messages;
    this.#options = options;
    this.stream = isStreamed;
  }

  /** After `next()`: the questions that the run waits for. Empty if it does not wait for a human. */
  get interrupts(): readonly Interrupt[] {
    return this.#interrupts;
  }

  /**
   * The messages of the run's input. Empty in a run that continues where another stopped. A middleware can change them
   * before `next()`.
   *
   * @throws InvalidMessageError if it is set to a value that is not a list.
   */
  get messages(): BaseMessage[] {
    return this.#messages;
  }

  set messages(messages: BaseMessage[]) {
    this.#messages = asMessages(messages);
  }

  /**
   * The settings that the run chose in its `context`. A middleware can change them before `next()`. They are
   * checked again.
   *
   * @throws InvalidSettingError if it is set to a value that is not an object.
   */
  get options(): RunContext {
    return this.#options;
  }

  set options(options: RunContext) {
    this.#options = asObject("context.options", options);
  }

  /**
   * After `next()`: the last message of the run. A middleware can set an assistant message or a text, which becomes the
   * final response of the run.
   *
   * @throws MiddlewareError if it is set to a value that is neither an assistant message nor a text.
   */
  get result(): BaseMessage | undefined {
    return this.#result;
  }

  set result(value: BaseMessage | string | undefined) {
    this.#result = value === undefined ? undefined : toAnswer(value);
  }

  /** Takes the outcome of the run. Unlike a middleware, a run can end with a tool result. */
  settle(last: BaseMessage | undefined, interrupts: readonly Interrupt[]): void {
    this.#result = last;
    this.#interrupts = interrupts;
  }
}

/** The options of one model call that a chat middleware can change. */
export interface ChatOptions {
  /** Whether the model may, must or must not call a tool. If it is `"none"`, tools stay off even if it is changed. */
  toolChoice: ToolChoice;
  /** Parameters of the model for this call, such as `temperature`. The names are those of its LangChain client. */
  parameters: Record<string, unknown>;
}

interface ChatFields extends RunScope {
  readonly messages: BaseMessage[];
  readonly options: ChatOptions;
  readonly model: BaseChatModel;
  readonly tools: readonly BindToolsInput[];
  /** Contract: returns the tools, or throws an error that names the first one that cannot be offered. */
  readonly checkTools: (tools: unknown) => readonly BindToolsInput[];
}

/** Whether a write came before the response of its model call, or after it. */
interface ChatUpdate extends StateUpdate {
  readonly isAfter: boolean;
}

/** One model call. */
export class ChatContext<
  State extends object = StateView,
  Context extends object = ContextView,
> extends MiddlewareContext<State, Context> {
  readonly #updates: ChatUpdate[] = [];
  readonly #fields: ChatFields;
  #messages: BaseMessage[];
  #options: ChatOptions;
  #model: BaseChatModel | string;
  #tools: readonly BindToolsInput[];
  readonly #given: readonly BindToolsInput[];
  #attempt = 1;
  #hasAnswer = false;
  #result: AIMessage | undefined;

  constructor(fields: ChatFields) {
    super(fields);
    this.#fields = fields;
    this.#messages = fields.messages;
    this.#options = fields.options;
    this.#model = fields.model;
    this.#given = viewOfTools(fields.tools);
    this.#tools = this.#given;
  }

  /**
   * The model of this call. A middleware can set another chat model, or the name of one as `provider:model`. The input is
   * put into the form of its provider. The next call has the run's model again.
   *
   * @throws InvalidModelError for a name that cannot be resolved.
   * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
   * fallbacks.
   */
  get model(): BaseChatModel | string {
    return this.#model;
  }

  set model(model: BaseChatModel | string) {
    if (typeof model === "string") parseModelName(model);
    else assertPlainModel("context.model", model, hintAtClass(model));
    this.#model = model;
  }

  /**
   * The tools that the model can call: `tools` and `additionalTools` of the graph. A middleware can set another list, for
   * this call only. It may contain tools of the graph, and, if the run has function middleware, other tools whose calls
   * that middleware answers. A call of a tool that is not in the list is not run. An empty list switches tools off.
   *
   * @throws InvalidToolError for a tool that the graph cannot run and that no function middleware can answer, a name that
   * a provider would refuse, or two tools of one name.
   */
  get tools(): readonly BindToolsInput[] {
    return this.#tools;
  }

  set tools(tools: readonly BindToolsInput[]) {
    this.#tools = viewOfTools(this.#fields.checkTools(tools));
  }

  /** Which attempt this is. The first is 1. It grows when a middleware with `retry` calls `next()` again. */
  get attempt(): number {
    return this.#attempt;
  }

  /**
   * The model input of this call. Changes are sent to the model, but not stored in the history.
   *
   * @throws InvalidMessageError if it is set to a value that is not a list.
   */
  get messages(): BaseMessage[] {
    return this.#messages;
  }

  set messages(messages: BaseMessage[]) {
    this.#messages = asMessages(messages);
  }

  /**
   * The options of this call. Their fields are checked when the model is called.
   *
   * @throws InvalidSettingError if it is set to a value that is not an object.
   */
  get options(): ChatOptions {
    return this.#options;
  }

  set options(options: ChatOptions) {
    this.#options = asObject("context.options", options);
  }

  /**
   * After `next()`: the model's complete response. A middleware can set an assistant message or a text, which is stored
   * and streamed in its place.
   *
   * @throws MiddlewareError if it is set to a value that is neither an assistant message nor a text.
   */
  get result(): AIMessage | undefined {
    return this.#result;
  }

  set result(value: BaseMessage | string | undefined) {
    this.#result = value === undefined ? undefined : toAnswer(value);
  }

  /**
   * Writes to the state, together with the response. `messages` go through the reducer. Those that are written before
   * `next()` come before the response, the others after it. Of several values for another key, the last one is written,
   * or all of them if the key has a reducer.
   * If the model call fails, nothing is written.
   *
   * @throws InvalidSettingError for a key that the state does not have.
   * @throws InvalidMessageError for a value in `messages` that is not a message.
   */
  update(changes: Readonly<Record<string, unknown>>): void {
    this.#updates.push({ ...readStateUpdate(changes, this.#fields.stateKeys), isAfter: this.#hasAnswer });
  }

  /** What the middleware has written to the state. */
  get updates(): readonly ChatUpdate[] {
    return this.#updates;
  }

  /** Whether a middleware has set another list of tools. */
  get hasOwnTools(): boolean {
    return this.#tools !== this.#given;
  }

  /** Whether a middleware has set another model. */
  get hasOwnModel(): boolean {
    return this.#model !== this.#fields.model;
  }

  /** Takes the model's response. */
  settle(answer: AIMessage): void {
    this.#hasAnswer = true;
    this.#result = answer;
  }

  /** Called before another attempt, whose response replaces the one before, with what inner middleware wrote in the last one. */
  beginAttempt({ from, to }: Span): void {
    this.#updates.splice(from, to - from);
    this.#attempt += 1;
    this.#hasAnswer = false;
    this.#result = undefined;
  }
}

/** Not the tools themselves: they are shared by all runs, and some have private fields. */
function viewOfTools(tools: readonly BindToolsInput[]): readonly BindToolsInput[] {
  return readOnlyView([...tools], "context.tools", { advice: "Set it to another list.", isShallow: true });
}

/** A tool call as the model made it. */
export interface FunctionCall {
  /** The id that the provider set. */
  readonly id: string;
  /** The tool's name. */
  readonly name: string;
  /** The parsed arguments. */
  readonly args: Readonly<Record<string, unknown>>;
}

interface FunctionFields extends RunScope {
  readonly call: FunctionCall;
  readonly tool: StructuredToolInterface | undefined;
}

/** One tool call. */
export class FunctionContext<
  State extends object = StateView,
  Context extends object = ContextView,
> extends MiddlewareContext<State, Context> {
  /** The tool call as the model made it. */
  readonly call: FunctionCall;
  /**
   * The tool that runs the call. Undefined if the graph has no such tool, or if the model was not offered it. A middleware
   * can answer such a call itself, with `context.result`. After `next()` its result says that there is no such tool.
   */
  readonly tool: StructuredToolInterface | undefined;
  readonly #updates: StateUpdate[] = [];
  readonly #stateKeys: readonly string[];
  #arguments: Record<string, unknown>;
  #attempt = 1;
  #error: unknown;
  #result: ToolMessage | undefined;

  constructor({ call, tool, ...scope }: FunctionFields) {
    super(scope);
    // Copies, because changes of a middleware must not reach the history.
    this.call = readOnlyView({ ...call, args: structuredClone(call.args) }, "context.call", {
      advice: "Set `context.arguments`.",
    });
    this.#arguments = structuredClone(call.args);
    this.#stateKeys = scope.stateKeys;
    this.tool = tool;
  }

  /**
   * The arguments that the tool is called with. A middleware can change them before `next()`. The tool's schema checks
   * them again.
   */
  get arguments(): Record<string, unknown> {
    return this.#arguments;
  }

  set arguments(value: Record<string, unknown>) {
    this.#arguments = value;
  }

  /** Which attempt this is. The first is 1. It grows when a middleware with `retry` calls `next()` again. */
  get attempt(): number {
    return this.#attempt;
  }

  /**
   * After `next()`: what the tool threw in the last attempt. Undefined if it returned. The error of a tool that took too
   * long has the name `ToolTimeoutError`.
   */
  get error(): unknown {
    return this.#error;
  }

  /**
   * After `next()`: the result of the tool call. Its `status` is `"error"` if the tool failed. A middleware can set a
   * `ToolMessage` or a text, which becomes the result in its place.
   *
   * @throws MiddlewareError if it is set to a value that is neither a `ToolMessage` nor a text.
   */
  get result(): ToolMessage | undefined {
    return this.#result;
  }

  set result(value: BaseMessage | string | undefined) {
    this.#result = value === undefined ? undefined : toResult(value, this.call);
  }

  /**
   * Writes to the state, together with the result of the call. `messages` go through the reducer, as the messages of a
   * tool's `Command` do.
   *
   * @throws InvalidSettingError for a key that the state does not have.
   * @throws InvalidMessageError for a value in `messages` that is not a message.
   */
  update(changes: Readonly<Record<string, unknown>>): void {
    this.#updates.push(readStateUpdate(changes, this.#stateKeys));
  }

  /** What the middleware has written to the state. */
  get updates(): readonly StateUpdate[] {
    return this.#updates;
  }

  /** Takes the outcome of an attempt. */
  settle(result: ToolMessage, error: unknown): void {
    this.#result = result;
    this.#error = error;
  }

  /** Called before another attempt, with what inner middleware wrote in the last one. */
  beginAttempt({ from, to }: Span): void {
    this.#updates.splice(from, to - from);
    this.#attempt += 1;
    this.#error = undefined;
  }
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
 * A view of a value that can be read and not changed. A change is an error that says what cannot be changed.
 */

interface ViewOptions {
  /** What to do instead, as a sentence. */
  readonly advice?: string;
  /** Whether only the value itself is a view, and not what it contains. @default false */
  readonly isShallow?: boolean;
}

/**
 * Objects, lists and messages in the value are views too. Other values, such as dates, are the values themselves.
 *
 * @param place The name of the value in errors.
 */
function readOnlyView<Value>(value: Value, place: string, options: ViewOptions = {}): Value {
  return viewOf(value, place, options, new WeakMap()) as Value;
}

function viewOf(
  value: unknown,
  place: string,
  options: ViewOptions,
  known: WeakMap<object, object>,
): unknown {
  if (!isViewable(value)) return value;
  const seen = known.get(value);
  if (seen !== undefined) return seen;
  const refuse = (name: string | symbol): never => {
    throw new MiddlewareError(
      `\`${pathOf(place, value, name)}\` cannot be changed.${options.advice ? ` ${options.advice}` : ""}`,
    );
  };
  const view = new Proxy(value, {
    get: (target, name, receiver) => {
      const field: unknown = Reflect.get(target, name, receiver);
      if (options.isShallow || typeof field === "function" || isFixed(target, name)) return field;
      return viewOf(field, pathOf(place, value, name), options, known);
    },
    set: (_target, name) => refuse(name),
    defineProperty: (_target, name) => refuse(name),
    deleteProperty: (_target, name) => refuse(name),
    setPrototypeOf: () => refuse("prototype"),
  });
  known.set(value, view);
  return view;
}

function isViewable(value: unknown): value is object {
  return Array.isArray(value) || isPlainObject(value) || isBaseMessage(value);
}

/** A proxy must return the value itself of a field that is frozen. */
function isFixed(target: object, name: string | symbol): boolean {
  const field = Reflect.getOwnPropertyDescriptor(target, name);
  return field !== undefined && field.configurable === false && field.writable === false;
}

function pathOf(place: string, holder: object, name: string | symbol): string {
  return Array.isArray(holder) && /^\d+$/.test(String(name))
    ? `${place}[${String(name)}]`
    : `${place}.${String(name)}`;
}

/**
 * The layers with a context that refuses writes to fields that cannot be changed, and to fields that do not exist. The
 * core of the onion has the context itself.
 */
export function withGuardedContext<Context extends object>(
  layers: readonly Layer<Context>[],
  context: Context,
  kind: string,
): Layer<Context>[] {
  const guarded = guardWrites(context, kind);
  return layers.map((layer) => ({ ...layer, handle: (_context, next) => layer.handle(guarded, next) }));
}

/** A field can be changed if its class has a setter for it. */
function guardWrites<Context extends object>(context: Context, kind: string): Context {
  const changeable = settersOf(context);
  const refuse = (name: string | symbol): never => {
    const question = name in context ? "" : didYouMean(String(name), changeable);
    throw new MiddlewareError(
      `\`context.${String(name)}\` cannot be changed.${question} A middleware of the kind \`${kind}\` can change: ${changeable.join(", ")}.`,
    );
  };
  return new Proxy(context, {
    // The context itself is the receiver, because its class has private fields.
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" &&
        name in Object.getPrototypeOf(target) &&
        !changeable.includes(String(name))
        ? value.bind(target)
        : value;
    },
    set: (target, name, value) =>
      changeable.includes(String(name)) ? Reflect.set(target, name, value, target) : refuse(name),
    defineProperty: (_target, name) => refuse(name),
    deleteProperty: (_target, name) => refuse(name),
  });
}

function settersOf(context: object): string[] {
  const names = new Set<string>();
  let prototype: object | null = Object.getPrototypeOf(context);
  // The last prototype is that of every object.
  for (
    ;
    prototype !== null && Object.getPrototypeOf(prototype) !== null;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    for (const [name, { set }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (set !== undefined) names.add(name);
  }
  return [...names].sort();
}

/*
 * What a middleware writes to the state with `context.update`.
 */

interface StateUpdate {
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
function readStateUpdate(changes: unknown, keys: readonly string[]): StateUpdate {
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
  const { dangling, pending } = unansweredCalls(messages);
  const [open] = [...dangling, ...pending];
  if (open !== undefined) {
    throw new MiddlewareError(
      `\`context.update\` got a message with a call of \`${open.call.name}\` without its result. Only calls of the model are run.`,
    );
  }
  return { messages, fields };
}
