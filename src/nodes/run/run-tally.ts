/** Counts of one run, for its `run-end` event. */

import type { AIMessage, UsageMetadata } from "@langchain/core/messages";
import { callsOf } from "../../history/messages/call.js";
import type { RunEndEvent } from "./agent-event.js";

export class RunTally {
  #calls = 0;
  #results = 0;
  #brokenAnswers = 0;
  #usage: RunEndEvent["usage"];

  /** Counts a response that is stored. */
  addAnswer(message: AIMessage): void {
    this.#calls += callsOf(message).length;
    this.#addUsage(message.usage_metadata);
  }

  addResults(count: number): void {
    this.#results += count;
  }

  /** Counts a broken response. It is not stored, but its tokens were paid for. */
  addBroken(usage: UsageMetadata | undefined): void {
    this.#brokenAnswers += 1;
    this.#addUsage(usage);
  }

  /** Counts the tokens of a complete response that was not used. */
  addDiscarded(usage: UsageMetadata | undefined): void {
    this.#addUsage(usage);
  }

  end(): RunEndEvent {
    return {
      type: "run-end",
      calls: this.#calls,
      results: this.#results,
      usedFallback: this.#brokenAnswers > 0,
      ...(this.#usage !== undefined && { usage: this.#usage }),
    };
  }

  #addUsage(usage: UsageMetadata | undefined): void {
    if (usage === undefined) return;
    const { input_tokens = 0, output_tokens = 0, total_tokens = 0 } = usage;
    this.#usage = {
      input_tokens: (this.#usage?.input_tokens ?? 0) + input_tokens,
      output_tokens: (this.#usage?.output_tokens ?? 0) + output_tokens,
      total_tokens: (this.#usage?.total_tokens ?? 0) + total_tokens,
    };
  }
}
