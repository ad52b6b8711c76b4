/**
 * Hosts with the protocol of OpenAI's Chat Completions that belong to somebody else: gateways and servers of models.
 */

import { REASONING_FIELD } from "../deepseek/dialect.js";
import { CHAT_CLIENT, IMAGE_URL, openai } from "../openai/dialect.js";
import type { Dialect } from "../rule.js";

const { "call-id": _, ...rules } = openai.rules;

/**
 * A host that nobody knows. A sound history is sent as it is stored. Such hosts write ids of any form and length: those
 * of Kimi have dots and colons, and LiteLLM puts signatures into them. What only some hosts refuse stands in
 * `strict`, which a host gets after it has refused a request.
 */
export const openaiCompatible = {
  ...CHAT_CLIENT,
  rules,
  callId: /./s,
  // Some hosts demand the reasoning of their model, and others reject the field: see `deepseek/client.ts`.
  stateFields: [{ place: "additional_kwargs", name: REASONING_FIELD }],
  blocksIn: openai.blocksIn,
  media: IMAGE_URL,
  makers: [],
} as const satisfies Dialect;

/** The rules of a provider for requests in OpenAI's form, which its own endpoint or a gateway translates. */
export function overOpenAI({ rules, callId, toolName }: Pick<Dialect, "rules" | "callId" | "toolName">) {
  return { ...openaiCompatible, rules, callId, toolName, stateFields: [] } satisfies Dialect;
}
