import type { AsyncCallerParams } from "@langchain/core/utils/async_caller";

/** What a client is made of, and which failed requests it sends again. */
export interface ModelFields extends Pick<AsyncCallerParams, "maxRetries" | "onFailedAttempt"> {
  readonly model: string;
  /** The first of the provider's keys that is set; `""` for a provider that needs none. */
  readonly apiKey: string;
  readonly baseURL: string | undefined;
}
