/** What an MCP tool returned, as the content of a tool result. */

import type { MessageContent } from "@langchain/core/messages";
import { isRecord } from "../../shared/values.js";

type Block = Exclude<MessageContent, string>[number];

/**
 * Pictures, sounds and files stay blocks, which the model input brings into the form of the provider. What is text for a
 * model becomes text, without fields that a provider would refuse.
 *
 * @param structured What the tool returned as structured content. It is the content if there is no other.
 */
export function toolContent(content: unknown, structured: unknown): MessageContent {
  const blocks = (Array.isArray(content) ? content : [content]).map(toBlock);
  if (blocks.length === 0) return structured === undefined ? "" : JSON.stringify(structured);
  const texts = blocks.filter((block) => typeof block === "string");
  if (texts.length === blocks.length) return texts.join("\n");
  return blocks.map((block): Block => (typeof block === "string" ? { type: "text", text: block } : block));
}

function toBlock(block: unknown): string | Block {
  if (!isRecord(block)) return String(block ?? "");
  const { type, source_type, text, url, mime_type } = block;
  if (type === "text" || source_type === "text") return String(text);
  // A link to a resource. Its address means something to the server, not to the provider.
  if (source_type === "url")
    return typeof mime_type === "string" ? `Resource: ${url} (${mime_type})` : `Resource: ${url}`;
  return block as Block;
}
