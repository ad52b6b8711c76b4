import type { AsyncCallerParams } from "@langchain/core/utils/async_caller";

/** The fields of a client, and which failed requests it sends again. */
export interface ModelFields extends Pick<AsyncCallerParams, "maxRetries" | "onFailedAttempt"> {
  readonly model: string;
  /** The first of the provider's keys that is set. `""` for a provider that needs no key. */
  readonly apiKey: string;
  readonly baseURL: string | undefined;
}
