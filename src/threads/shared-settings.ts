/**
 * The settings that `createAgentGraph` and `tetherMiddleware` share, and the limit above which a model input is
 * summarised.
 */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { z } from "zod/v4";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { countTextTokens } from "../history/text-tokens.js";
import { readingOf, type Target } from "../providers/contract/author.js";
import type { DialectName } from "../providers/contract/dialect-name.js";
import { learnedWindowOf, windowOf } from "../providers/failure/overflow.js";
import { identityOf } from "../providers/table/dialect-of.js";
import { DIALECTS, targetOf } from "../providers/table/dialects.js";
import {
  countFrom,
  hintAtName,
  milliseconds,
  oneOf,
  type Rule,
  readText,
  type Setting,
  type SettingsTable,
  type ValueIn,
  type ValueOf,
} from "../shared/check-settings.js";
import { toJson } from "../shared/json.js";
import { listWithOr } from "../shared/text.js";
import { least, madeOnce } from "../shared/values.js";
import { warnOnce } from "./warn-once.js";

export const dialectRule = {
  schema: z.custom<DialectName>((name) => typeof name === "string" && Object.hasOwn(DIALECTS, name)),
  expects: listWithOr(Object.keys(DIALECTS)),
  hint: hintAtName(Object.keys(DIALECTS)),
  read: readText,
} satisfies Rule;

/** How many times a broken response is requested again, unless the options say. */
export const FALLBACK_ATTEMPTS = 3;

/** How long a model may be silent, in milliseconds, unless the options say. Models that think are silent for long. */
export const MODEL_IDLE_TIMEOUT = 600_000;

/** See `ToolCallsToKeep`. */
export const toolCallsToKeepRule = {
  schema: z.union([
    z.number().int().min(0),
    z.strictObject({ max: z.number().int().min(0), clearAtLeast: z.number().int().min(1).optional() }),
  ]),
  expects:
    "an integer of 0 or more, or an object with `max` (0 or more) and `clearAtLeast` (1 or more), both integers",
} satisfies Rule;

export const SUMMARY_LANGUAGES = ["en", "zh"] as const;
export type SummaryLanguage = (typeof SUMMARY_LANGUAGES)[number];

export const SUMMARY_SETTINGS = {
  /**
   * How many tokens the model input may have, tool schemas included, before its earlier part is summarised. 0 means
   * no limit. Default: 80 % of the model's input window, and no limit while the window is unknown.
   */
  maxTokensBeforeSummary: { ...countFrom(0), default: undefined, env: true, perRun: true },
  /** How many messages the model input may have before its earlier part is summarised. 0 means no limit. Default: 0. */
  maxMessagesBeforeSummary: { ...countFrom(0), default: 0, env: true, perRun: true },
  /**
   * How many of the latest messages a summary leaves as they are, if the token limit has room for them. Fewer make a
   * thread cheaper, because each request begins with them. With `maxMessagesBeforeSummary`, at most half of that number
   * stays. Default: 6.
   */
  messagesToKeep: { ...countFrom(1), default: 6, env: true, perRun: true },
  /**
   * How many tokens of the latest messages a summary leaves as they are. It replaces `messagesToKeep`. Default: none.
   */
  tokensToKeep: { ...countFrom(1), default: undefined, env: true, perRun: true },
  /** The chat model that writes summaries, or its name as `provider:model`. Default: the model of the run. */
  summaryModel: {
    schema: z.custom<BaseChatModel | string>(() => true),
    expects: "a model",
    default: undefined,
    env: { read: readText, expects: "a model as provider:name" },
  },
  /** The language of the summary prompt and heading: `en` or `zh`. Default: `en`. */
  summaryLanguage: { ...oneOf(SUMMARY_LANGUAGES), default: "en", env: true },
  /**
   * How many milliseconds a request for a summary may take. After that the history stays as it was, and the run goes
   * on. Default: 60,000.
   */
  summaryTimeoutMs: { ...milliseconds, default: 60_000, env: true },
  /**
   * Where summarised messages are kept. `keep` leaves them in the state, where removing the summary undoes it.
   * `archive` leaves them in an earlier checkpoint, from which `readFullHistory` and `restoreCovered` read them; it is not for
   * threads whose old checkpoints are deleted. Default: `keep`.
   */
  coveredMessages: { ...oneOf(["keep", "archive"]), default: "keep", env: true },
} as const satisfies SettingsTable;

type Table = typeof SUMMARY_SETTINGS;

/** The options of summaries. Names, values and defaults are those of `createAgentGraph`. */
export type SummaryOptions = { readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined };
/** The same with their defaults. */
export type SummarySettings = { readonly [Name in keyof Table]: ValueIn<Table[Name]> };

/** What decides when a history is summarised, besides the model. */
type PolicySettings = Pick<
  SummarySettings,
  "maxTokensBeforeSummary" | "maxMessagesBeforeSummary" | "messagesToKeep" | "tokensToKeep"
> & {
  readonly maxToolCallsFromHistory: SummaryPolicy["maxToolCalls"];
  readonly systemPrompt: string | undefined;
};

/**
 * When a history is summarised. The limit falls if the model refuses a request as too long.
 *
 * @param windowInThread The tokens that the model has shown to take in this thread.
 */
export function summaryPolicy(
  settings: PolicySettings,
  model: BaseChatModel | undefined,
  dialect: DialectName | undefined,
  toolTokens: number,
  windowInThread?: number,
): SummaryPolicy {
  return {
    maxTokensBeforeSummary: budgetFor(model, settings.maxTokensBeforeSummary, windowInThread),
    maxMessagesBeforeSummary: settings.maxMessagesBeforeSummary,
    messagesToKeep: settings.messagesToKeep,
    tokensToKeep: settings.tokensToKeep,
    maxToolCalls: settings.maxToolCallsFromHistory,
    ...(model !== undefined && readingOf(readerOf(model, dialect))),
    toolTokens,
    promptTokens: countTextTokens(settings.systemPrompt ?? ""),
  };
}

/**
 * Warns about summary options that cannot act, because nothing says when a summary is due. A limit of 0 means that none
 * is wanted.
 *
 * @param isAsked Whether one of the caller's options requests summaries as such.
 */
export function warnOfNoLimit(
  settings: SummarySettings,
  { maxTokensBeforeSummary, maxMessagesBeforeSummary }: SummaryPolicy,
  isAsked = false,
): void {
  if (
    maxTokensBeforeSummary > 0 ||
    maxMessagesBeforeSummary > 0 ||
    settings.maxTokensBeforeSummary !== undefined
  )
    return;
  const given = Object.entries<Setting>(SUMMARY_SETTINGS).flatMap(([name, row]) =>
    Reflect.get(settings, name) === row.default ? [] : [name],
  );
  for (const name of isAsked ? ["summary"] : given)
    warnOnce(
      `\`${name}\` has no effect while the input window of the model is not known: no summary is made. Set \`maxTokensBeforeSummary\` or \`maxMessagesBeforeSummary\`.`,
    );
}

/** Warns about an archive that no run can have. */
export function warnOfNoArchive(): void {
  warnOnce(
    '`coveredMessages: "archive"` has no effect in a run without a checkpointer and a thread: the messages stay in the state.',
  );
}

/*
 * How many tokens a model input can have, and how many of them its tools take.
 */

/**
 * How many tokens a model input can have before a summary is due. 0 means no limit.
 *
 * @param given The limit that the run or graph names.
 */
function budgetFor(
  model: BaseChatModel | undefined,
  given: number | undefined,
  inThread: number | undefined,
): number {
  if (model === undefined || given === 0) return given ?? 0;
  if (given === undefined) return budgetOf(model, inThread) ?? 0;
  // It can be larger than the stated window, but not larger than what the provider has refused.
  const refused = least(learnedWindowOf(model), inThread);
  return refused === undefined ? given : Math.min(given, shareOf(refused));
}

function readerOf(model: BaseChatModel, given: DialectName | undefined): Target {
  const identity = identityOf(model);
  return targetOf({ ...identity, dialect: given ?? identity.dialect });
}

/** How many tokens a request's tool schemas have, by our estimate. */
export function countToolTokens(tools: readonly BindToolsInput[]): number {
  return tools.reduce((sum, tool) => sum + tokensOfTool(tool), 0);
}

/** A program can make a graph for each run from the same tools, and a tool's JSON schema takes long to make. */
const known = new WeakMap<BindToolsInput, number>();

function tokensOfTool(tool: BindToolsInput): number {
  return madeOnce(known, tool, () => countTextTokens(toJson(convertToOpenAITool(tool)) ?? ""));
}

/*
 * A model input's limit, above which it is summarised.
 */

/** The next messages and the response need a part of the window, whatever the limit. */
const SHARE_OF_WINDOW = 0.8;

/**
 * The limit in tokens. Undefined if the model's window is not known.
 *
 * @param inThread The tokens that the model has shown to take in the thread.
 */
export function budgetOf(model: object, inThread?: number): number | undefined {
  const window = least(windowOf(model), inThread);
  return window === undefined ? undefined : shareOf(window);
}

function shareOf(window: number): number {
  return Math.max(Math.floor(window * SHARE_OF_WINDOW), 1);
}
