/** The dialects of all makers, by name. */

import { InvalidSettingError } from "../../errors.js";
import { serverCallId, serverResultId } from "../../history/server-tools.js";
import { didYouMean } from "../../shared/text.js";
import { madeOnce } from "../../shared/values.js";
import type { Target } from "../contract/author.js";
import { type Dialect, type Fields, isOf } from "../contract/dialect.js";
import type { DialectName } from "../contract/dialect-name.js";
import { openaiCompatible } from "../contract/openai-protocol.js";
import type { ModelIdentity } from "../contract/provider.js";
import type { StatedRule } from "../contract/rule.js";
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

/** The model of this identity. Its dialect has no rules that models of this name are known not to have. */
export function targetOf({ dialect, client, host, modelId }: ModelIdentity): Target {
  const entry = dialectNamed(dialect);
  const known = withRules(entry, ({ unless }) => modelId === undefined || unless?.test(modelId) !== true);
  return { dialect: known, client, host, modelId };
}

/** The dialect with only those rules that all its models are known to have. */
export function withCertainRules(dialect: Dialect): Dialect {
  return withRules(dialect, ({ unless }) => unless === undefined);
}

/** The same object for the same rules. */
function withRules(dialect: Dialect, isWanted: (stated: StatedRule) => boolean): Dialect {
  const all = Object.entries(dialect.rules);
  const rules = all.filter(([, stated]) => isWanted(stated));
  if (rules.length === all.length) return dialect;
  const variants = madeOnce(VARIANTS, dialect, () => new Map<string, Dialect>());
  const names = rules.map(([name]) => name).join();
  return madeOnce(variants, names, () => ({ ...dialect, rules: Object.fromEntries(rules) }));
}

const VARIANTS = new WeakMap<Dialect, Map<string, Dialect>>();

/** Forms of blocks of LangChain and of MCP's servers. Clients send some of them as they are, which no provider knows. */
const isGeneralForm = isOf(
  ...[
    "reasoning",
    "non_standard",
    "tool_call",
    "invalid_tool_call",
    "server_tool_call",
    "server_tool_call_result",
  ],
  ...["resource", "resource_link", "tool_reference"],
);
const OWNERS = [isGeneralForm, ...Object.values<Dialect>(DIALECTS).map(({ owns }) => owns)].filter(
  (owns) => !owns({ type: "text" }),
);

/** Whether a block has the form of another provider. A block that no provider made is not foreign. */
export function isForeignBlock(block: Fields, { owns, isClosed = false }: Dialect): boolean {
  return !owns(block) && (isClosed || OWNERS.some((isOwn) => isOwn(block)));
}

/** Whether the client leaves out a block of its own model's response: a call or result of a tool that the provider ran. */
export function isLeftOut(block: Fields, { sentServerBlocks }: Dialect): boolean {
  const isSent = sentServerBlocks?.some((type) => type === block["type"]) ?? true;
  return !isSent && (serverCallId(block) ?? serverResultId(block)) !== undefined;
}
