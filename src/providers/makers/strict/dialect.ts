/**
 * The common denominator. Every provider in the table accepts a history that breaks none of these rules, and so do
 * hosts without an entry (Bedrock, Kimi, GLM, MiniMax, vLLM). It is for a model that has refused its own dialect. Each
 * rule names a provider that demands it.
 *
 * Images are the exception. They are sent in the form that most hosts accept, although some accept none. Those hosts
 * are known by their clients.
 */

import { pickFields } from "../../../shared/values.js";
import { COMMON, type Dialect } from "../../contract/dialect.js";
import { IMAGE_URL } from "../../contract/openai-protocol.js";
import { confirmed, INFERRED, type RuleName, type StatedRules } from "../../contract/rule.js";

type Demanding =
  | "openai"
  | "openaiResponses"
  | "anthropic"
  | "gemini"
  | "mistral"
  | "deepseek"
  | "kimi"
  | "minimax";

/** @param others The dialects that demand the rules. */
export function strictOf(others: Readonly<Record<Demanding, Dialect>>) {
  const { openai, openaiResponses, anthropic, gemini, mistral, deepseek, kimi, minimax } = others;
  return {
    ...COMMON,
    isClosed: true,
    rules: {
      ...openai.rules,
      ...rulesOf(mistral, "call-id", "assistant-last"),
      ...rulesOf(gemini, "tool-name", "call-position"),
      ...rulesOf(
        anthropic,
        "unpaired-surrogate",
        "blank-text",
        "blank-user",
        "blank-result",
        "foreign-state",
      ),
      ...rulesOf(openaiResponses, "item-id"),
      // https://github.com/NousResearch/hermes-agent/issues/15213
      ...rulesOf(deepseek, "missing-reasoning"),
      ...rulesOf(minimax, "repeated-call-id", "arguments"),
      ...rulesOf(kimi, "empty-assistant"),
      "result-order": INFERRED["result-order"],
      role: INFERRED.role,
      "system-position": confirmed(
        "System message must be at the beginning.",
        "vllm-project/vllm/issues/41114",
      ),
      "first-user": confirmed(
        "1214 The messages parameter is illegal. Please check the documentation.",
        "anomalyco/opencode/issues/2557",
      ),
      // Templates of open models, and Mistral's API until 2026.
      "user-after-tool": confirmed(
        "Unexpected role 'user' after role 'tool'",
        "datapizza-labs/datapizza-ai/issues/98",
      ),
      alternation: confirmed(
        "A conversation must alternate between user and assistant roles.",
        "microsoft/semantic-kernel/issues/10281",
      ),
    },
    mediaLimits: { ...anthropic.mediaLimits, types: ["image/png", "image/jpeg", "image/webp"] },
    most: pickFields(openai.most ?? {}, (name) => name === "calls"),
    callPlaces: ["listed", "raw", "block"],
    callId: mistral.callId,
    toolName: /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/,
    // Without a known provider, state that only one provider can read must not be sent.
    stateFields: [...openaiResponses.stateFields, ...gemini.stateFields],
    blocksIn: ["human"],
    media: IMAGE_URL,
    makers: [],
  } as const satisfies Dialect;
}

function rulesOf({ rules }: Dialect, ...names: readonly RuleName[]): StatedRules {
  return pickFields(rules, (name) => names.some((wanted) => wanted === name));
}
