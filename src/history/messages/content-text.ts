import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { toJson } from "../../shared/to-json.js";
import { callBlockOf } from "./call.js";

/**
 * The content of a message as text. Content that is not text (a picture, a file) is named; calls and
 * reasoning are left out.
 */
export function contentText({ content }: BaseMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map(blockText)
    .filter((text) => text !== "")
    .join("\n");
}

const SILENT_BLOCKS: ReadonlySet<unknown> = new Set([
  "thinking",
  "redacted_thinking",
  "reasoning",
  "tool_call",
  "invalid_tool_call",
]);

function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  if (!isRecord(block) || callBlockOf(block) !== undefined) return "";
  if (typeof block["text"] === "string") return block["text"];
  const type = typeof block["type"] === "string" ? block["type"] : "block";
  if (SILENT_BLOCKS.has(type)) return "";
  const name = "name" in block ? block["name"] : block["title"];
  if (type === "json" || type === "tool_result") return toJson(block) ?? `[${type}]`;
  return typeof name === "string" ? `[${type}: ${name}]` : `[${type}]`;
}
