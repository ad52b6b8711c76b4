import { InvalidSettingError } from "../errors.js";
import { checkToolCallsToKeep, type ToolCallsToKeep } from "../history/long-threads/filter-tool-calls.js";
import type { Repair } from "../history/messages/repair.js";
import { type DialectName, dialectNamed } from "../providers/dialects/dialects.js";
import { isRecord } from "../shared/is-record.js";
import { checkSummaryOptions, type TetherSummaryOptions } from "./summarize-thread.js";

/** The options of `tetherMiddleware`. */
export interface TetherMiddlewareOptions {
  /**
   * The rules of the provider that gets the requests.
   *
   * @default those of the model that is asked
   */
  readonly dialect?: DialectName | undefined;
  /** How many tool calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  /**
   * How many tokens the messages of a request may have, by our estimate. If they have more, they are shortened as
   * `toModelInput` describes. @default the input window of the model, if it is known
   */
  readonly maxTokens?: number | undefined;
  /**
   * How often a broken response of the model is requested again, without streaming. 0: never, so that the run fails.
   * A broken response is never stored, and its tool calls are never run. @default 3
   */
  readonly maxStreamFallbackAttempts?: number | undefined;
  /**
   * Replaces the earlier part of a long thread by a summary, in the place of `summarizationMiddleware`. The messages that
   * a summary covers are kept: see `coveredMessages`. `{}`: with the defaults of `createAgentGraph`. @default no
   * summaries
   */
  readonly summary?: TetherSummaryOptions | undefined;
  /**
   * Whether an error that a tool throws becomes a result that the model reads, as in an agent without middleware. If
   * not, the run fails, and loses the results of the calls that still run. @default true
   */
  readonly keepToolErrors?: boolean | undefined;
  /**
   * Contract: called for each call that the middleware closes with a placeholder, before the placeholder is stored. What
   * it throws is ignored.
   */
  readonly onRepair?: ((repair: Repair, place: RepairPlace) => void) | undefined;
}

/** Where a repair was made. */
export interface RepairPlace {
  /** The thread; undefined for a run without one. */
  readonly threadId: string | undefined;
}

const NAMES: ReadonlySet<string> = new Set<keyof TetherMiddlewareOptions>([
  "dialect",
  "maxToolCallsFromHistory",
  "maxTokens",
  "maxStreamFallbackAttempts",
  "summary",
  "keepToolErrors",
  "onRepair",
]);

/** @throws InvalidSettingError that names the first option that cannot be used. */
export function checkOptions(options: TetherMiddlewareOptions): void {
  if (!isRecord(options as unknown)) throw InvalidSettingError.expected("options", "an object", options);
  for (const name of Object.keys(options)) {
    if (!NAMES.has(name))
      throw InvalidSettingError.expected("option", `one of ${[...NAMES].join(", ")}`, name);
  }
  const { dialect, maxToolCallsFromHistory, maxTokens, maxStreamFallbackAttempts, summary } = options;
  const { keepToolErrors, onRepair } = options;
  if (dialect !== undefined) dialectNamed(dialect);
  if (maxToolCallsFromHistory !== undefined) checkToolCallsToKeep(maxToolCallsFromHistory);
  checkCount("maxTokens", maxTokens);
  checkCount("maxStreamFallbackAttempts", maxStreamFallbackAttempts);
  if (summary !== undefined) checkSummaryOptions(summary);
  if (keepToolErrors !== undefined && typeof keepToolErrors !== "boolean")
    throw InvalidSettingError.expected("keepToolErrors", "true or false", keepToolErrors);
  if (onRepair !== undefined && typeof onRepair !== "function")
    throw InvalidSettingError.expected("onRepair", "a function", onRepair);
}

function checkCount(name: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && Number.isInteger(value) && value >= 0)) return;
  throw InvalidSettingError.expected(name, "a whole number of 0 or more", value);
}
