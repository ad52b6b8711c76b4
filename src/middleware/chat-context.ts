import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { ToolChoice } from "../settings/tool-choice.js";
import { asMessages, asObject, MiddlewareContext, type RunScope, toAnswer } from "./context.js";

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
  readonly tools: readonly object[];
}

/** One model call. */
export class ChatContext extends MiddlewareContext {
  readonly model: BaseChatModel;
  /** The tools that the model can call: `tools` and `additionalTools` of the graph. */
  readonly tools: readonly object[];
  #messages: BaseMessage[];
  #options: ChatOptions;
  #result: AIMessage | undefined;

  constructor({ messages, options, model, tools, ...scope }: Fields) {
    super(scope);
    this.#messages = messages;
    this.#options = options;
    this.model = model;
    this.tools = tools;
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
}
