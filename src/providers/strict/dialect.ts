/**
 * The common denominator. Every provider in the table accepts a history that breaks none of these rules, and so do
 * hosts without an entry (Bedrock, Kimi, GLM, MiniMax, vLLM). It is for a model that has refused its own dialect. Each
 * rule names a provider that demands it.
 *
 * Images are the exception. They are sent in the form that most hosts accept, although some accept none. Those hosts
 * are known by their clients.
 */

import { anthropic } from "../anthropic/dialect.js";
import { GLM_ERROR, kimi, minimax } from "../compatible/dialect.js";
import { deepseek } from "../deepseek/dialect.js";
import { gemini } from "../gemini/dialect.js";
import { mistral } from "../mistral/dialect.js";
import { IMAGE_URL, openai, openaiResponses } from "../openai/dialect.js";
import { COMMON, confirmed, type Dialect, INFERRED } from "../rule.js";

export const strict = {
  ...COMMON,
  rules: {
    ...openai.rules,
    "result-order": INFERRED["result-order"],
    "call-id": mistral.rules["call-id"],
    "assistant-last": mistral.rules["assistant-last"],
    "user-after-tool": mistral.rules["user-after-tool"],
    "tool-name": gemini.rules["tool-name"],
    "call-position": gemini.rules["call-position"],
    "unpaired-surrogate": anthropic.rules["unpaired-surrogate"],
    "blank-text": anthropic.rules["blank-text"],
    "blank-user": anthropic.rules["blank-user"],
    "blank-result": anthropic.rules["blank-result"],
    "foreign-state": anthropic.rules["foreign-state"],
    "item-id": openaiResponses.rules["item-id"],
    // https://github.com/NousResearch/hermes-agent/issues/15213
    "missing-reasoning": deepseek.rules["missing-reasoning"],
    "repeated-call-id": minimax.rules["repeated-call-id"],
    arguments: minimax.rules.arguments,
    "empty-assistant": kimi.rules["empty-assistant"],
    "system-position": confirmed(
      "System message must be at the beginning.",
      "vllm-project/vllm/issues/41114",
    ),
    "first-user": confirmed(GLM_ERROR, "anomalyco/opencode/issues/2557"),
    alternation: confirmed(
      "A conversation must alternate between user and assistant roles.",
      "microsoft/semantic-kernel/issues/10281",
    ),
  },
  mediaLimits: { ...anthropic.mediaLimits, types: ["image/png", "image/jpeg", "image/webp"] },
  most: { calls: openai.most.calls },
  callPlaces: ["listed", "raw", "block"],
  callId: mistral.callId,
  toolName: /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/,
  // Without a known provider, state that only one provider can read must not be sent.
  stateFields: [...openaiResponses.stateFields, ...gemini.stateFields],
  blocksIn: ["human"],
  media: IMAGE_URL,
  makers: [],
} as const satisfies Dialect;
