/** The options of `tetherMiddleware`, and their check. */

import { z } from "zod/v4";
import type { ToolCallsToKeep } from "../history/cut.js";
import type { DialectName } from "../providers/contract/dialect-name.js";
import { assertGivenModel, cachedCreateModel } from "../providers/models/create-model.js";
import {
  aFunction,
  checkSettings,
  countFrom,
  flag,
  milliseconds,
  type Rule,
} from "../shared/check-settings.js";
import type { OnRepair } from "../threads/events.js";
import {
  dialectRule,
  SUMMARY_SETTINGS,
  type SummaryOptions,
  toolCallsToKeepRule,
} from "../threads/shared-settings.js";

/** The options of `tetherMiddleware`. */
export interface TetherMiddlewareOptions {
  /**
   * The rules of the provider that gets the requests.
   *
   * @default the rules of the model that is asked
   */
  readonly dialect?: DialectName | undefined;
  /** How many tool calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  /**
   * How many tokens a request may have, including its tools. If it has more, its messages are shortened as
   * `toModelInput` describes. @default the model's input window, if known, with room for the response
   */
  readonly maxTokens?: number | undefined;
  /**
   * How many times the model's broken response is requested again, without streaming. 0: never, so that the run fails.
   * A broken response is never stored, and its tool calls are never run. @default 3
   */
  readonly maxStreamFallbackAttempts?: number | undefined;
  /**
   * How many milliseconds the model may be silent: before its first chunk, between two chunks, or before a response
   * that is not streamed. After that the request ends and counts as a cut stream. The client's waits between retries
   * count too. @default 600000
   */
  readonly modelIdleTimeoutMs?: number | undefined;
  /**
   * Replaces the earlier part of a long thread with a summary, instead of `summarizationMiddleware`. The covered
   * messages are kept: see `coveredMessages`. `{}`: the defaults of `createAgentGraph`. @default no summaries
   */
  readonly summary?: TetherSummaryOptions | undefined;
  /**
   * Whether an error that a tool throws becomes a result that the model reads. Middleware before this one then sees a
   * result. With `false`, the error passes through, and what no middleware handles ends as in every agent with
   * `wrapToolCall` middleware: the model is told which arguments are wrong, and any other error fails the run.
   *
   * Calls that have finished keep their results either way. A middleware's own error always fails the run.
   * @default `true` in an agent whose other middleware does not wrap tool calls, and otherwise `false`, as without this
   * middleware; `true` if LangChain does not say which, such as in a run that continues in a new process
   */
  readonly keepToolErrors?: boolean | undefined;
  /**
   * Contract: called for each call that the middleware closes with a placeholder, before the placeholder is stored. If
   * the call is only an item of OpenAI's Responses API, the request closes it, and nothing is stored. Its errors are
   * ignored.
   */
  readonly onRepair?: OnRepair | undefined;
}

/** The options of summaries. Names, values and defaults are those of `createAgentGraph`. */
export type TetherSummaryOptions = SummaryOptions;

export const createSharedModel = cachedCreateModel();

/** @throws InvalidSettingError for an unknown option or an unusable value. */
export function checkOptions(options: TetherMiddlewareOptions): void {
  checkSettings(options, RULES, "options");
  if (options.summary === undefined) return;
  checkSettings(options.summary, SUMMARY_SETTINGS, "summary");
  const { summaryModel } = options.summary;
  if (summaryModel !== undefined) assertGivenModel("summaryModel", summaryModel, createSharedModel);
}

const RULES: Readonly<Record<keyof TetherMiddlewareOptions, Rule>> = {
  dialect: dialectRule,
  maxToolCallsFromHistory: toolCallsToKeepRule,
  maxTokens: countFrom(0),
  maxStreamFallbackAttempts: countFrom(0),
  modelIdleTimeoutMs: milliseconds,
  summary: { schema: z.record(z.string(), z.unknown()), expects: "an object" },
  keepToolErrors: flag,
  onRepair: aFunction(),
};
