import { InvalidSettingError } from "../../errors.js";
import { didYouMean } from "../../shared/text.js";
import type { DialectName } from "../contract/dialect-name.js";
import { openaiCompatible } from "../contract/openai-protocol.js";
import type { ModelIdentity } from "../contract/provider.js";
import type { Dialect, Target } from "../contract/rule.js";
import { anthropic, anthropicOpenAI } from "../makers/anthropic/dialect.js";
import { bedrock } from "../makers/bedrock/dialect.js";
import { asStored, glm, kimi, minimax, xai } from "../makers/compatible/dialect.js";
import { dashscope, dashscopeNative } from "../makers/dashscope/dialect.js";
import { deepseek } from "../makers/deepseek/dialect.js";
import { gemini, geminiOpenAI } from "../makers/gemini/dialect.js";
import { mistral, mistralOpenAI } from "../makers/mistral/dialect.js";
import { openai, openaiResponses, responsesCompatible } from "../makers/openai/dialect.js";
import { strictOf } from "../makers/strict/dialect.js";

const strict = strictOf({ openai, openaiResponses, anthropic, gemini, mistral, deepseek, kimi, minimax });

/** The message rules of each provider family, as facts with their sources. */
export const DIALECTS = {
  openai,
  "openai-responses": openaiResponses,
  "responses-compatible": responsesCompatible,
  dashscope,
  "dashscope-native": dashscopeNative,
  deepseek,
  anthropic,
  gemini,
  mistral,
  bedrock,
  "openai-compatible": openaiCompatible,
  xai,
  kimi,
  glm,
  minimax,
  "anthropic-openai": anthropicOpenAI,
  "gemini-openai": geminiOpenAI,
  "mistral-openai": mistralOpenAI,
  "as-stored": asStored,
  strict,
} as const satisfies Readonly<Record<DialectName, Dialect>>;

export const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

/**
 * A dialect's entry, in its general form.
 *
 * @throws InvalidSettingError for an unknown name.
 */
export function dialectNamed(name: DialectName): Dialect {
  if (Object.hasOwn(DIALECTS, name)) return DIALECTS[name];
  const hint = didYouMean(String(name), DIALECT_NAMES);
  throw InvalidSettingError.expected("dialect", `one of ${DIALECT_NAMES.join(", ")}`, name, hint);
}

/** The model of this identity, with its dialect's entry. */
export function targetOf({ dialect, client, host, modelId }: ModelIdentity): Target {
  return { dialect: dialectNamed(dialect), client, host, modelId };
}
