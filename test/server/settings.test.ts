import { describe, expect, it } from "vitest";
import { readSettings, SERVED_DEFAULTS } from "../../server/settings.js";
import type { NamesWith } from "../../src/agent/settings/settings.js";
import { InvalidSettingError } from "../../src/index.js";

interface Variable {
  readonly name: string;
  readonly text: string;
  readonly value: unknown;
  /** A text that is refused, and what is expected instead; none for a variable that takes any text. */
  readonly refused?: readonly [text: string, expects: string];
}

const LONGEST = 2_147_483_647;
const variable = (name: string, text: string, value: unknown, refused?: Variable["refused"]): Variable => ({
  name,
  text,
  value,
  ...(refused && { refused }),
});
const count = (least: number, name: string) =>
  variable(name, " 7 ", 7, [`${least - 1}`, `an integer of ${least} or more`]);
const milliseconds = (name: string) => variable(name, "250", 250, ["5s", `an integer from 1 to ${LONGEST}`]);
const names = (name: string) => variable(name, " one, two,,", ["one", "two"]);
const text = (name: string) => variable(name, `the text of ${name}`, `the text of ${name}`);
const flag = (name: string, value: boolean) =>
  variable(name, `${value}`, value, ["perhaps", "true or false"]);
const oneOf = (name: string, value: string, expects: string) =>
  variable(name, value, value, ["maybe", expects]);

const VARIABLES: { readonly [Option in NamesWith<{ readonly env: true | object }>]: Variable } = {
  model: text("MODEL"),
  models: names("MODELS"),
  fallbackModels: names("FALLBACK_MODELS"),
  dialect: oneOf(
    "DIALECT",
    "mistral",
    "openai, openai-responses, responses-compatible, dashscope, dashscope-native, deepseek, anthropic, gemini, mistral, bedrock, openai-compatible, xai, kimi, glm, minimax, anthropic-openai, gemini-openai, mistral-openai, as-stored or strict",
  ),
  systemPrompt: text("SYSTEM_PROMPT"),
  promptCache: oneOf("PROMPT_CACHE", "auto", "auto or off"),
  acceptSystemMessages: flag("ACCEPT_SYSTEM_MESSAGES", true),
  maxStreamFallbackAttempts: count(0, "MAX_STREAM_FALLBACK_ATTEMPTS"),
  modelIdleTimeoutMs: milliseconds("MODEL_IDLE_TIMEOUT_MS"),
  requireApproval: names("REQUIRE_APPROVAL"),
  toolChoice: oneOf("TOOL_CHOICE", "required", "auto, none or required"),
  terminateOnUnknownCalls: flag("TERMINATE_ON_UNKNOWN_CALLS", true),
  includeDetailedErrors: flag("INCLUDE_DETAILED_ERRORS", false),
  acceptUnnamedDecisions: flag("ACCEPT_UNNAMED_DECISIONS", true),
  toolTimeoutMs: milliseconds("TOOL_TIMEOUT_MS"),
  maxIterations: count(1, "MAX_ITERATIONS"),
  maxToolCalls: count(0, "MAX_TOOL_CALLS"),
  maxToolCallsPerThread: count(0, "MAX_TOOL_CALLS_PER_THREAD"),
  maxTokensPerTurn: count(1, "MAX_TOKENS_PER_TURN"),
  maxTokensPerThread: count(1, "MAX_TOKENS_PER_THREAD"),
  maxConsecutiveErrors: count(1, "MAX_CONSECUTIVE_ERRORS"),
  maxToolCallsFromHistory: variable(
    "MAX_TOOL_CALLS_FROM_HISTORY",
    '{"max":12,"clearAtLeast":6}',
    { max: 12, clearAtLeast: 6 },
    ["-1", 'an integer of 0 or more, or JSON such as {"max":12,"clearAtLeast":6}'],
  ),
  maxTokensBeforeSummary: count(0, "MAX_TOKENS_BEFORE_SUMMARY"),
  maxMessagesBeforeSummary: count(0, "MAX_MESSAGES_BEFORE_SUMMARY"),
  messagesToKeep: count(1, "MESSAGES_TO_KEEP"),
  tokensToKeep: count(1, "TOKENS_TO_KEEP"),
  summaryModel: text("SUMMARY_MODEL"),
  summaryLanguage: oneOf("SUMMARY_LANGUAGE", "zh", "en or zh"),
  summaryTimeoutMs: milliseconds("SUMMARY_TIMEOUT_MS"),
  allowedSettings: variable("ALLOWED_SETTINGS", "model, maxIterations", ["model", "maxIterations"]),
  steering: flag("STEERING", false),
  messagesChannel: oneOf("MESSAGES_CHANNEL", "delta", "full or delta"),
  coveredMessages: oneOf("COVERED_MESSAGES", "archive", "keep or archive"),
};

const rows = Object.entries(VARIABLES).map(([option, variable]) => ({ option, ...variable }));

describe("readSettings", () => {
  it.each(rows)("reads $name as the option $option, and no other", ({ option, name, text, value }) => {
    const { options, weather } = readSettings({ [name]: text });
    expect(options).toEqual({ ...SERVED_DEFAULTS, [option]: value });
    expect(weather).toEqual({});
  });

  it.each(rows)("takes an empty $name as not set", ({ name }) => {
    expect(readSettings({ [name]: " " })).toEqual({ options: SERVED_DEFAULTS, weather: {} });
  });

  it.each(
    rows.flatMap(({ name, refused }) => (refused ? [{ name, text: refused[0], expects: refused[1] }] : [])),
  )("refuses $text as $name, by its name", ({ name, text, expects }) => {
    const read = () => readSettings({ [name]: text });
    expect(read).toThrow(InvalidSettingError);
    expect(read).toThrow(`Expected \`${name}\` to be ${expects}, got \`"${text}"\`.`);
  });

  it.each([
    ...["auto", "none", "required"].map((toolChoice) => ["TOOL_CHOICE", toolChoice, { toolChoice }] as const),
    ["MAX_TOOL_CALLS_FROM_HISTORY", "3", { maxToolCallsFromHistory: 3 }] as const,
  ])("takes as %s also %s", (name, text, options) => {
    expect(readSettings({ [name]: text }).options).toMatchObject(options);
  });

  it.each([
    ["OPEN_METEO_GEOCODING_URL", "geocodingBaseUrl"],
    ["OPEN_METEO_FORECAST_URL", "forecastBaseUrl"],
  ])("reads %s for the weather tool", (name, option) => {
    const url = "http://127.0.0.1:1";
    expect(readSettings({ [name]: url })).toEqual({ options: SERVED_DEFAULTS, weather: { [option]: url } });
    expect(() => readSettings({ [name]: "ftp://x" })).toThrow(`Expected \`${name}\` to be an http(s) URL`);
  });

  it("refuses a setting in ALLOWED_SETTINGS that no run can choose, by the name of the variable", () => {
    const read = () => readSettings({ ALLOWED_SETTINGS: "model,maxIteration" });
    expect(read).toThrow(
      /^Expected `ALLOWED_SETTINGS` to be names of settings .* Did you mean `maxIterations`\?$/,
    );
  });

  it("serves the offline model, and takes no system messages and no endless list of tool calls", () => {
    expect(SERVED_DEFAULTS).toEqual({
      model: "offline:",
      includeDetailedErrors: true,
      maxToolCalls: 64,
      acceptSystemMessages: false,
    });
  });
});
