import type { AIMessage } from "@langchain/core/messages";
import { toJson } from "../../shared/to-json.js";
import { copyMessage } from "../messages/copy-message.js";

/**
 * Removes the provider's own copy of the calls if the calls differ from those of the earlier message.
 * OpenAI's client keeps this copy in `additional_kwargs`, and it would still have the old calls.
 */
export function withoutStaleCalls(message: AIMessage, earlier: AIMessage): AIMessage {
  const { tool_calls: raw, ...additional_kwargs } = message.additional_kwargs;
  if (raw === undefined || listed(message) === listed(earlier)) return message;
  return copyMessage(message, { additional_kwargs });
}

function listed({ tool_calls, invalid_tool_calls }: AIMessage): string | undefined {
  return toJson([tool_calls, invalid_tool_calls]);
}
