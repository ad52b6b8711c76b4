import type { BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { countTokens } from "../../history/long-threads/count-tokens.js";
import { isAIMessage } from "../../history/messages/call.js";
import { identityOf } from "../../providers/dialects/dialect-of.js";
import { type RunTally, readTokens } from "./run-tally.js";

/** Counts the tokens of the requests to one model for its run. */
export interface UsageCounter {
  /** Call it before a request is sent, with the tokens of its messages by our estimate. */
  readonly begin: (tokens: number) => void;
  /** Counts the response to the latest request. */
  readonly addResponse: (response: BaseMessage) => void;
  /** Counts a broken response to the latest request. It is not stored, but its tokens were paid for. */
  readonly addBroken: (usage: UsageMetadata | undefined) => void;
}

/**
 * The numbers are the provider's. If it reports none, or some that cannot be, they are our estimate.
 *
 * @param toolTokens The tokens of the tools' schemas, which are part of each request.
 * @param tally That of the run; undefined outside a run of the graph, where nothing is counted.
 */
export function createUsageCounter(
  model: object,
  toolTokens: number,
  tally: RunTally | undefined,
): UsageCounter {
  const name = nameOf(model);
  let sent = 0;
  const add = (reported: unknown, response: number): void => {
    const usage = readTokens(reported);
    if (usage !== undefined) tally?.addUsage(name, usage);
    else tally?.addEstimate(sent + toolTokens + response);
  };
  return {
    begin: (tokens) => {
      sent = tokens;
    },
    addResponse: (response) =>
      add(isAIMessage(response) ? response.usage_metadata : undefined, countTokens(response)),
    addBroken: (usage) => add(usage, 0),
  };
}

function nameOf(model: object): string {
  const type: unknown = Reflect.get(model, "_llmType");
  const client: unknown = typeof type === "function" ? Reflect.apply(type, model, []) : undefined;
  return identityOf(model).modelId ?? (typeof client === "string" ? client : "unknown");
}
