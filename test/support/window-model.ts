/** A chat model that refuses a request beyond its window, in the words of a provider. */

import type { BaseMessage } from "@langchain/core/messages";
import { type Answer, FunctionModel } from "./function-model.js";
import { tokensOf } from "./long-histories.js";
import { type OverflowFamily, overflowError } from "./overflow-refusals.js";

/** Providers count other tokens than our estimate. */
const TOKENS_PER_ESTIMATED = 1.25;

interface Window {
  /** In tokens of the provider. */
  readonly window: number;
  readonly family: OverflowFamily;
  /** The window that the client states. @default none */
  readonly stated?: number | undefined;
}

export class WindowModel extends FunctionModel {
  readonly #stated: number | undefined;
  /** The tokens of each refused request. */
  readonly overflows: number[];

  constructor({ window, family, stated }: Window, answer: Answer = () => "done") {
    const overflows: number[] = [];
    super((asked) => {
      const tokens = Math.ceil(tokensOf(asked.messages) * TOKENS_PER_ESTIMATED);
      if (tokens <= window) return answer(asked);
      overflows.push(tokens);
      return overflowError(family, tokens, window);
    });
    this.overflows = overflows;
    this.#stated = stated;
  }

  override get profile() {
    return this.#stated === undefined ? {} : { maxInputTokens: this.#stated };
  }

  /** The messages of the requests that it accepted. */
  get accepted(): (readonly BaseMessage[])[] {
    return this.requests.map(({ messages }) => messages).filter((messages) => this.fits(messages));
  }

  fits(messages: readonly BaseMessage[]): boolean {
    return !this.overflows.includes(Math.ceil(tokensOf(messages) * TOKENS_PER_ESTIMATED));
  }
}
