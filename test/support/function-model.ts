/** A chat model that answers with a function, remembers its requests, and notes a history that a provider would refuse. */

import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { PlayedModel, type PlayOptions, wholeChunk } from "./played-model.js";
import { strictViolations } from "./strict-check.js";

export interface Asked {
  readonly messages: readonly BaseMessage[];
  /** The text of the last message: for a summariser, what it was given to read. */
  readonly text: string;
  /** How many requests there were before. */
  readonly index: number;
  readonly signal: AbortSignal | undefined;
}

type Answered = string | AIMessage | Error;

/** Contract: returns the answer, or an error that is thrown; may throw and may never resolve. */
export type Answer = (asked: Asked) => Answered | Promise<Answered>;

export class FunctionModel extends PlayedModel {
  readonly requests: Asked[] = [];
  /** What a strict provider would have refused, in words. */
  readonly refused: string[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    super();
    this.#answer = answer;
  }

  protected override async play(
    messages: readonly BaseMessage[],
    { signal }: PlayOptions,
  ): Promise<readonly AIMessageChunk[]> {
    const asked: Asked = {
      messages: [...messages],
      text: messages.at(-1)?.text ?? "",
      index: this.requests.length,
      signal,
    };
    this.requests.push(asked);
    this.refused.push(...strictViolations(messages));
    const answer = await this.#answer(asked);
    if (answer instanceof Error) throw answer;
    return [wholeChunk(typeof answer === "string" ? new AIMessage(answer) : answer)];
  }
}

/** A summariser that says the same few words each time, with a number. */
export const shortSummariser = () => new FunctionModel(({ index }) => `short summary ${index}`);
