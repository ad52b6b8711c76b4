import type { AIMessage } from "@langchain/core/messages";
import { callBlockOf } from "./call.js";
import { copyMessage } from "./copy-message.js";

type Arguments = Readonly<Record<string, unknown>>;

/**
 * A copy whose call at an index of `tool_calls` has other arguments, also where the call stands in the content. What
 * a provider has signed is not touched.
 */
export function withArguments(message: AIMessage, index: number, args: Arguments): AIMessage {
  const calls = message.tool_calls ?? [];
  const call = calls[index];
  if (call === undefined) return message;
  const occurrence = calls.slice(0, index).filter(({ id }) => id === call.id).length;
  let seen = 0;
  const content = Array.isArray(message.content)
    ? message.content.map((block) => {
        if (callBlockOf(block)?.id !== call.id) return block;
        seen += 1;
        return seen - 1 === occurrence ? withBlockArguments(block, args) : block;
      })
    : message.content;
  return copyMessage(message, { tool_calls: calls.with(index, { ...call, args: { ...args } }), content });
}

/** An OpenAI block has its arguments as JSON. */
function withBlockArguments<Block extends { readonly type?: unknown }>(block: Block, args: Arguments): Block {
  return "arguments" in block
    ? { ...block, arguments: JSON.stringify(args) }
    : { ...block, input: { ...args } };
}
