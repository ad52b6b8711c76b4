/** What is fixed when a graph is built. Not JSON, or nothing that a client may turn off. */

import { z } from "zod";
import { checkSettings, countFrom, flag, milliseconds, objectWith, oneOf, type Rule, text } from "./rule.js";
import { RUN_SETTINGS } from "./run-context.js";

export const SUMMARY_LANGUAGES = ["en", "zh"] as const;
export type SummaryLanguage = (typeof SUMMARY_LANGUAGES)[number];

const model = { schema: z.unknown(), expectation: "a model" } satisfies Rule;
const list = (what: string) => ({ schema: z.array(z.unknown()), expectation: `a list of ${what}` });

const BUILD_SETTINGS = {
  ...RUN_SETTINGS,
  model,
  models: { schema: z.array(z.string()), expectation: "a list of model names" },
  createModel: { schema: z.custom((value) => typeof value === "function"), expectation: "a function" },
  tools: list("tools"),
  summaryModel: model,
  summaryLanguage: oneOf(SUMMARY_LANGUAGES),
  summaryPrompt: text,
  summaryHeading: text,
  summaryTimeoutMs: milliseconds,
  coveredMessages: { ...oneOf(["keep", "archive"]), expectation: "keep or archive" },
  middleware: list("middleware"),
  autoInvoke: flag,
  terminateOnUnknownCalls: flag,
  additionalTools: list("tools"),
  requireApproval: {
    schema: z.union([z.array(z.string()), z.custom((value) => typeof value === "function")]),
    expectation: "a list of tool names, or a function (call) => boolean",
  },
  includeDetailedErrors: flag,
  toolTimeoutMs: milliseconds,
  maxStreamFallbackAttempts: countFrom(0),
  checkpointer: objectWith("getTuple", "a checkpointer"),
  store: objectWith("search", "a store"),
} as const satisfies Record<string, Rule>;

export const BUILD_SETTING_NAMES: readonly string[] = Object.keys(BUILD_SETTINGS);

/** @throws InvalidSettingError for an unknown name or a value that the setting does not take. */
export function checkBuildSettings(options: unknown): void {
  checkSettings(options, BUILD_SETTINGS, "options");
}
