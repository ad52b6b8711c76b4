import type { BaseMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import type { RunContext } from "../settings/run-context.js";
import {
  asMessages,
  asObject,
  type ContextView,
  MiddlewareContext,
  type RunScope,
  type StateView,
  toAnswer,
} from "./context.js";

interface Fields extends RunScope {
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

  constructor({ messages, options, isStreamed, ...scope }: Fields) {
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
