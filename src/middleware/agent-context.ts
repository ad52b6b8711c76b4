import type { BaseMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import type { RunContext } from "../settings/run-context.js";
import { asMessages, asObject, MiddlewareContext, type RunScope, toAnswer } from "./context.js";

interface Fields extends RunScope {
  readonly messages: BaseMessage[];
  readonly options: RunContext;
  readonly isStreamed: boolean;
}

/** One run of the graph, however it was started. */
export class AgentContext extends MiddlewareContext {
  /** Whether the run was started by `stream` or `streamEvents`, as the server does, and not by `invoke`. */
  readonly stream: boolean;
  /** What the run waits for, after `next()`. */
  interrupts: readonly Interrupt[] = [];
  #messages: BaseMessage[];
  #options: RunContext;
  #result: BaseMessage | undefined;

  constructor({ messages, options, isStreamed, ...scope }: Fields) {
    super(scope);
    this.#messages = messages;
    this.#options = options;
    this.stream = isStreamed;
  }

  /**
   * The messages of the run's input; none in a run that goes on where another stopped. May be changed.
   *
   * @throws InvalidMessageError if it is set to what is no list.
   */
  get messages(): BaseMessage[] {
    return this.#messages;
  }

  set messages(messages: BaseMessage[]) {
    this.#messages = asMessages(messages);
  }

  /**
   * What the run's `context` chooses. May be changed; it is checked again.
   *
   * @throws InvalidSettingError if it is set to what is no object.
   */
  get options(): RunContext {
    return this.#options;
  }

  set options(options: RunContext) {
    this.#options = asObject("context.options", options);
  }

  /**
   * After `next()` the last message of the run. Set, it is the assistant's answer: a text becomes a message.
   *
   * @throws MiddlewareError if it is set to what is neither an assistant message nor a text.
   */
  get result(): BaseMessage | undefined {
    return this.#result;
  }

  set result(value: BaseMessage | string | undefined) {
    this.#result = value === undefined ? undefined : toAnswer(value);
  }

  /** What the run came to: also a result of a tool, which no middleware could set. */
  settle(last: BaseMessage | undefined, interrupts: readonly Interrupt[]): void {
    this.#result = last;
    this.interrupts = interrupts;
  }
}
