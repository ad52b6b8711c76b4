import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { assertPlainModel } from "../providers/models/check-model.js";
import { parseModelName } from "../providers/models/create-model.js";
import { hintAtClass } from "../settings/hint-at-class.js";
import type { ToolChoice } from "../settings/tool-choice.js";
import {
  asMessages,
  asObject,
  type ContextView,
  MiddlewareContext,
  type RunScope,
  type StateView,
  toAnswer,
} from "./context.js";
import { readOnlyView } from "./read-only-view.js";
import type { Span } from "./run-onion.js";
import { readStateUpdate, type StateUpdate } from "./state-update.js";

/** The options of one model call that a chat middleware can change. */
export interface ChatOptions {
  /** Whether the model may, must or must not call a tool. If it is `"none"`, tools stay off even if it is changed. */
  toolChoice: ToolChoice;
  /** Parameters of the model for this call, such as `temperature`. The names are those of its LangChain client. */
  parameters: Record<string, unknown>;
}

interface Fields extends RunScope {
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
  readonly #fields: Fields;
  #messages: BaseMessage[];
  #options: ChatOptions;
  #model: BaseChatModel | string;
  #tools: readonly BindToolsInput[];
  readonly #given: readonly BindToolsInput[];
  #attempt = 1;
  #hasAnswer = false;
  #result: AIMessage | undefined;

  constructor(fields: Fields) {
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
