/** The rules of DeepSeek. */

import type { Dialect } from "../../contract/dialect.js";
import { CHAT_CLIENT, FOLLOWED_BY_RESULTS } from "../../contract/openai-protocol.js";
import { confirmed, EVERYWHERE, INFERRED } from "../../contract/rule.js";

export const deepseek = {
  ...CHAT_CLIENT,
  rules: {
    ...EVERYWHERE,
    "missing-result": confirmed(FOLLOWED_BY_RESULTS, "TurixAI/TuriX-CUA/issues/15"),
    "orphan-result": confirmed(
      "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
      "itmisx/deepx-code/issues/94",
    ),
    // Only the title is known, not the body of the error.
    "duplicate-result": confirmed("Duplicate value for 'tool_call_id'", "HKUDS/nanobot/issues/3945"),
    // An id is unique in the whole request. OpenAI takes repeated ones.
    "repeated-call-id": confirmed(
      "Duplicate value for 'tool_call_id'",
      "craft-ai-agents/craft-agents-oss/issues/630",
    ),
    "unpaired-surrogate": confirmed(
      "Failed to parse the request body as JSON: messages[{index}].content: lone leading surrogate in hex escape",
      "JohnnyZ93/oai-compatible-copilot/pull/271",
    ),
    "empty-assistant": confirmed(
      "Invalid assistant message: content or tool_calls must be set",
      "carlrobertoh/ProxyAI/issues/830",
    ),
    // The documentation demands it in turns with tool calls. Reports say that plain responses after them also need it.
    "missing-reasoning": confirmed(
      "The `reasoning_content` in the thinking mode must be passed back to the API.",
      "qwersyk/Newelle/issues/404",
    ),
    "empty-calls": INFERRED["empty-calls"],
    "foreign-block": INFERRED["foreign-block"],
  },
  // Texts only.
  blocksIn: ["human", "ai", "tool"],
  // OpenAI's client names itself, whichever host answered.
  makers: ["deepseek", "openai"],
} as const satisfies Dialect;

/** Who gets the dialects of this maker. */
export const deepseekModels = {
  clients: { deepseek: "deepseek" },
  hosts: [[/^api\.deepseek\.com$/, "deepseek"]],
  // Other makers' small models were distilled from DeepSeek's: `deepseek-r1-distill-llama-70b`.
  hostedModels: [[/^(?!.*distill).*\bdeepseek/i, "deepseek"]],
} as const;
