import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/messages/call.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { storableCopy } from "../../history/reading/storable-copy.js";
import { isRecord } from "../../shared/is-record.js";
import { parseJson } from "../../shared/parse-json.js";

/**
 * The message with usable calls in place of its invalid ones. The clients of LangChain do not send invalid calls, but
 * they send their results, which a provider then refuses. What can be read of the arguments stays; otherwise they are
 * empty. The receipt keeps the message as it was.
 */
export function withUsableCalls(message: BaseMessage): BaseMessage {
  if (!isAIMessage(message)) return message;
  const { tool_calls = [], invalid_tool_calls = [] } = message;
  if (invalid_tool_calls.length === 0) return message;
  const usable = invalid_tool_calls.map(({ id, name = "", args }) => ({
    ...(id !== undefined && { id }),
    name,
    args: usableArguments(args),
    type: "tool_call" as const,
  }));
  return copyMessage<AIMessage>(message, { tool_calls: [...tool_calls, ...usable], invalid_tool_calls: [] });
}

function usableArguments(text: unknown): Record<string, unknown> {
  const value = storableCopy(typeof text === "string" ? parseJson(text) : text);
  return isRecord(value) && !Array.isArray(value) ? value : {};
}
