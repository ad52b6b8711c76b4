import type { AIMessage } from "@langchain/core/messages";
import { toJson } from "../shared/to-json.js";
import { copyMessage } from "./copy-message.js";

/**
 * The message without what the provider wrote of its calls, if they are not those of the earlier message any more.
 * OpenAI's client keeps that beside the calls, in `additional_kwargs`: a copy which says what was changed since.
 */
export function withoutStaleCalls(message: AIMessage, earlier: AIMessage): AIMessage {
  const { tool_calls: raw, ...additional_kwargs } = message.additional_kwargs;
  if (raw === undefined || listed(message) === listed(earlier)) return message;
  return copyMessage(message, { additional_kwargs });
}

function listed({ tool_calls, invalid_tool_calls }: AIMessage): string | undefined {
  return toJson([tool_calls, invalid_tool_calls]);
}
