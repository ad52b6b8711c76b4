/**
 * A chat model whose responses come from a function. It remembers its requests, and notes histories that a provider
 * would refuse.
 */

import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { PlayedModel, type PlayOptions, wholeChunk } from "./played-model.js";
import { calls } from "./scripted-model.js";
import { strictViolations } from "./strict-check.js";

export interface Asked {
  readonly messages: readonly BaseMessage[];
  /** The text of the last message. For a summariser, it contains the messages to summarise. */
  readonly text: string;
  /** The number of requests before this one. */
  readonly index: number;
  readonly signal: AbortSignal | undefined;
  readonly toolChoice: unknown;
}

type Answered = string | AIMessage | Error;

/**
 * Contract: returns the response, or an error that is thrown. It can throw, and it can return a promise that never
 * resolves.
 */
export type Answer = (asked: Asked) => Answered | Promise<Answered>;

export class FunctionModel extends PlayedModel {
  readonly requests: Asked[] = [];
  /** Descriptions of the faults that a strict provider would have refused. */
  readonly refused: string[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    super();
    this.#answer = answer;
  }

  protected override async play(
    messages: readonly BaseMessage[],
    { signal, tool_choice }: PlayOptions,
  ): Promise<readonly AIMessageChunk[]> {
    const asked: Asked = {
      messages: [...messages],
      text: messages.at(-1)?.text ?? "",
      index: this.requests.length,
      signal,
      toolChoice: tool_choice,
    };
    this.requests.push(asked);
    this.refused.push(...strictViolations(messages));
    const answer = await this.#answer(asked);
    if (answer instanceof Error) throw answer;
    return [wholeChunk(typeof answer === "string" ? new AIMessage(answer) : answer)];
  }
}

/** Calls a tool this often for each message of the user, at once, and then responds. */
export const callingOnce = (tool: string, count = 1) =>
  new FunctionModel(({ messages, index }) =>
    messages.at(-1)?.type === "tool" ? `Done ${index}.` : calls(...Array(count).fill([tool])),
  );

/** A summariser that writes the same short text each time, with a number. */
export const shortSummariser = () => new FunctionModel(({ index }) => `short summary ${index}`);
