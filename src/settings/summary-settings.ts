/** Settings of summaries: when a summary is made, which model writes it, and where the covered messages are kept. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { z } from "zod/v4";
import { readNumber, readText } from "./environment-text.js";
import { countFrom, milliseconds, oneOf, text } from "./rule.js";
import type { SettingsTable, ValueIn, ValueOf } from "./setting.js";

export const SUMMARY_LANGUAGES = ["en", "zh"] as const;
export type SummaryLanguage = (typeof SUMMARY_LANGUAGES)[number];

export const SUMMARY_SETTINGS = {
  /**
   * How many tokens the model input may have, tool schemas included, before its earlier part is summarised. 0 means
   * no limit. Default: 80 % of the model's input window, and no limit while the window is unknown.
   */
  maxTokensBeforeSummary: {
    ...countFrom(0),
    help: "How many tokens the model input may have, tool schemas included, before its earlier part is summarised. 0 means no limit. Default: 80 % of the model's input window, and no limit while the window is unknown.",
    default: undefined,
    env: { name: "MAX_TOKENS_BEFORE_SUMMARY", read: readNumber },
    perRun: true,
  },
  /** How many messages the model input may have before its earlier part is summarised. 0 means no limit. Default: 0. */
  maxMessagesBeforeSummary: {
    ...countFrom(0),
    help: "How many messages the model input may have before its earlier part is summarised. 0 means no limit. Default: 0.",
    default: 0,
    env: { name: "MAX_MESSAGES_BEFORE_SUMMARY", read: readNumber },
    perRun: true,
  },
  /**
   * How many of the latest messages a summary leaves as they are, if the token limit has room for them. With
   * `maxMessagesBeforeSummary`, at most half of that number stays. Default: 20.
   */
  messagesToKeep: {
    ...countFrom(1),
    help: "How many of the latest messages a summary leaves as they are, if the token limit has room for them. With `maxMessagesBeforeSummary`, at most half of that number stays. Default: 20.",
    default: 20,
    env: { name: "MESSAGES_TO_KEEP", read: readNumber },
    perRun: true,
  },
  /**
   * How many tokens of the latest messages a summary leaves as they are. It replaces `messagesToKeep`. Default:
   * none.
   */
  tokensToKeep: {
    ...countFrom(1),
    help: "How many tokens of the latest messages a summary leaves as they are. It replaces `messagesToKeep`. Default: none.",
    default: undefined,
    env: { name: "TOKENS_TO_KEEP", read: readNumber },
    perRun: true,
  },
  /** The chat model that writes summaries, or its name as `provider:model`. Default: the model of the run. */
  summaryModel: {
    schema: z.custom<BaseChatModel | string>(() => true),
    expects: "a model",
    help: "The chat model that writes summaries, or its name as `provider:model`. Default: the model of the run.",
    default: undefined,
    env: { name: "SUMMARY_MODEL", read: readText, expects: "a model as provider:name" },
  },
  /** The language of the summary prompt and heading: `en` or `zh`. Default: `en`. */
  summaryLanguage: {
    ...oneOf(SUMMARY_LANGUAGES),
    help: "The language of the summary prompt and heading: `en` or `zh`. Default: `en`.",
    default: "en",
    env: { name: "SUMMARY_LANGUAGE", read: readText },
  },
  /** The instructions for the model that writes summaries. Default: a text in `summaryLanguage`. */
  summaryPrompt: {
    ...text,
    help: "The instructions for the model that writes summaries. Default: a text in `summaryLanguage`.",
    default: undefined,
    env: { name: "SUMMARY_PROMPT", read: readText },
  },
  /** The line above each summary. Default: a text in `summaryLanguage`. */
  summaryHeading: {
    ...text,
    help: "The line above each summary. Default: a text in `summaryLanguage`.",
    default: undefined,
    env: { name: "SUMMARY_HEADING", read: readText },
  },
  /**
   * How many milliseconds a request for a summary may take. After that the history stays as it was, and the run goes
   * on. Default: 60,000.
   */
  summaryTimeoutMs: {
    ...milliseconds,
    help: "How many milliseconds a request for a summary may take. After that the history stays as it was, and the run goes on. Default: 60,000.",
    default: 60_000,
    env: { name: "SUMMARY_TIMEOUT_MS", read: readNumber },
  },
  /**
   * Where summarised messages are kept. `keep` leaves them in the state, where removing the summary undoes it.
   * `archive` moves them to the store, which `readFullHistory` and `restoreCovered` read. Default: `keep`.
   */
  coveredMessages: {
    ...oneOf(["keep", "archive"]),
    help: "Where summarised messages are kept. `keep` leaves them in the state, where removing the summary undoes it. `archive` moves them to the store, which `readFullHistory` and `restoreCovered` read. Default: `keep`.",
    default: "keep",
    env: { name: "COVERED_MESSAGES", read: readText },
  },
} as const satisfies SettingsTable;

type Table = typeof SUMMARY_SETTINGS;

/** The options of summaries. They have the names, values and defaults of those of `createAgentGraph`. */
export type SummaryOptions = { readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined };
/** The same with their defaults. */
export type SummarySettings = { readonly [Name in keyof Table]: ValueIn<Table[Name]> };
