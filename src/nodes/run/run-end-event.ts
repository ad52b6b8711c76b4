/** The event at the end of a run, with its counts. */

/** Tokens, with the names of LangChain's `UsageMetadata`. A number that the provider does not report is 0. */
export interface TokenUsage {
  /** Tokens of the model input, cached ones included. */
  readonly input_tokens: number;
  /** Tokens of the responses, reasoning included. */
  readonly output_tokens: number;
  /** The total that the provider reports, in tokens, and at least the sum of the two. */
  readonly total_tokens: number;
  readonly input_token_details: {
    /** Input tokens that the provider read from its cache. */
    readonly cache_read: number;
    /** Input tokens that the provider wrote to its cache. */
    readonly cache_creation: number;
  };
  readonly output_token_details: {
    /** Output tokens of the model's reasoning. */
    readonly reasoning: number;
  };
}

/**
 * Emitted last, when a run ends with a final response, with the results of a required call, or with calls that its
 * caller executes. A run that waits for a human, fails or is aborted has no such event. All counts are for this run
 * only, not for its thread.
 */
export interface RunEndEvent {
  readonly type: "run-end";
  /** How many tool calls the responses of this run have. */
  readonly calls: number;
  /** How many tool results this run added, errors and refused calls included. Recovered results do not count. */
  readonly results: number;
  /** Whether a response was broken and was requested again without streaming. */
  readonly usedFallback: boolean;
  /** Tokens of all responses and summaries, broken responses included. Left out if no model reports usage. */
  readonly usage?: TokenUsage & {
    /** The same for each model, by its name. */
    readonly models: { readonly [name: string]: TokenUsage };
  };
}
