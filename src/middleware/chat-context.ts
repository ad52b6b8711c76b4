import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { ToolChoice } from "../settings/tool-choice.js";
import { asMessages, asObject, MiddlewareContext, type RunScope, toAnswer } from "./context.js";

/** What a chat middleware may change of one model call. */
export interface ChatOptions {
  /** `"none"` where tools are off, for whatever reason; then they stay off. */
  toolChoice: ToolChoice;
  /** Parameters of the model for this call, by the names that its client has for them, such as `temperature`. */
  parameters: Record<string, unknown>;
}

interface Fields extends RunScope {
  readonly messages: BaseMessage[];
  readonly options: ChatOptions;
  readonly model: BaseChatModel;
  readonly tools: readonly object[];
}

/** One call of the model. */
export class ChatContext extends MiddlewareContext {
  readonly model: BaseChatModel;
  /** What is offered to the model: the tools of the graph, and the additional ones. */
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
   * The model input of this call. What is changed here is sent, and not stored.
   *
   * @throws InvalidMessageError if it is set to what is no list.
   */
  get messages(): BaseMessage[] {
    return this.#messages;
  }

  set messages(messages: BaseMessage[]) {
    this.#messages = asMessages(messages);
  }

  /** @throws InvalidSettingError if it is set to what is no object; its fields are checked when the model is called. */
  get options(): ChatOptions {
    return this.#options;
  }

  set options(options: ChatOptions) {
    this.#options = asObject("context.options", options);
  }

  /**
   * After `next()` the model's whole answer. Set, it is stored and streamed in its place: a text becomes a message.
   *
   * @throws MiddlewareError if it is set to what is neither an assistant message nor a text.
   */
  get result(): AIMessage | undefined {
    return this.#result;
  }

  set result(value: BaseMessage | string | undefined) {
    this.#result = value === undefined ? undefined : toAnswer(value);
  }
}
