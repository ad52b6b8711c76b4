/** What the agent tells of itself on the `custom` stream. */

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { PlaceholderCause } from "../../history/messages/result.js";
import type { BrokenReason } from "../../providers/answer/stream-verdict.js";
import type { ClosingReason } from "./agent-state.js";

/** Counted over one run: what its model messages called and cost, not what the thread holds. */
export interface RunEndEvent {
  readonly type: "run-end";
  readonly calls: number;
  readonly results: number;
  /** Whether a broken answer was asked for again without streaming. */
  readonly usedFallback: boolean;
  /** Tokens, broken answers included; missing where the model tells of none. */
  readonly usage?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
  };
}

/** A chunk of the `custom` stream: what the agent tells of its own work. Tell them apart by `type`. */
export type AgentEvent =
  /** A dangling call was closed with a placeholder, because of `cause`. */
  | {
      readonly type: "call-closed";
      readonly tool: string;
      readonly callId: string;
      readonly cause: PlaceholderCause;
    }
  /** A dangling call got the result that its tool had returned before its run ended. */
  | { readonly type: "result-recovered"; readonly tool: string; readonly callId: string }
  /** A summary now stands for the covered messages, which it names by id. */
  | { readonly type: "summary-made"; readonly covered: readonly string[]; readonly tokensSaved: number }
  /** No summary was made, and the history is as it was. */
  | { readonly type: "summary-failed"; readonly reason: string }
  /** A limit of the turn is reached: the model is asked for a closing answer with tools off. */
  | { readonly type: "limit-reached"; readonly limit: ClosingReason }
  /** An answer of the model was not whole, because of `reason`. It is asked for again, if it may be. */
  | { readonly type: "answer-broken"; readonly reason: BrokenReason }
  /** A request to the model failed, and its client will send it again after a wait. Emitted before the wait. */
  | {
      readonly type: "model-retry";
      /** Which request failed; the first is 1. */
      readonly attempt: number;
      /** After this many failed requests the run fails. */
      readonly maxAttempts: number;
      /** What the provider said, without keys. */
      readonly reason: string;
    }
  /** The run has ended with the model's final message. */
  | RunEndEvent;

export function emitEvent(config: LangGraphRunnableConfig, event: AgentEvent): void {
  config.writer?.(event);
}
