import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { toJson } from "../../shared/to-json.js";
import { callBlockOf } from "./call.js";
import {
  callerIdOf,
  type ServerResultText,
  serverCallId,
  serverResultId,
  serverResultTexts,
} from "./server-tools.js";

/**
 * The content of a message as text. Content that is not text (a picture, a file) is named; calls and
 * reasoning are left out. What tools of the provider returned is told with their calls.
 */
export function contentText({ content }: BaseMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const resultText = serverResultTexts(content);
  return content
    .map((block) => blockText(block, resultText))
    .filter((text) => text !== "")
    .join("\n");
}

type Block = Exclude<MessageContent, string>[number];

/**
 * Replaces the blocks that are not taken by a text, if they say something. A call and its result stay or go together,
 * and with them the calls that the code of that call made. The text of a result tells its call too.
 */
export function withTextFor(content: readonly Block[], isTaken: (block: Block) => boolean): Block[] {
  const lost = new Set<string | undefined>(
    content.flatMap((block) => (isTaken(block) ? [] : (serverResultId(block) ?? []))),
  );
  for (const block of content) {
    const id = serverCallId(block);
    if (id !== undefined && (!isTaken(block) || lost.has(callerIdOf(block)))) lost.add(id);
  }
  const resultText = serverResultTexts(content);
  return content.flatMap((block) => {
    const call = serverCallId(block);
    if (isTaken(block) && !lost.has(call ?? serverResultId(block))) return [block];
    const text = call === undefined ? blockText(block, resultText) : "";
    return text.trim() === "" ? [] : [{ type: "text", text }];
  });
}

const SILENT_BLOCKS: ReadonlySet<unknown> = new Set([
  "thinking",
  "redacted_thinking",
  "reasoning",
  "compaction",
  "functionCall",
  "tool_call",
  "invalid_tool_call",
]);

function blockText(block: unknown, resultText: ServerResultText): string {
  if (typeof block === "string") return block;
  if (!isRecord(block) || callBlockOf(block) !== undefined) return "";
  const returned = resultText(block);
  if (returned !== undefined) return returned;
  if (typeof block["text"] === "string") return block["text"];
  const type = typeof block["type"] === "string" ? block["type"] : "block";
  if (SILENT_BLOCKS.has(type)) return "";
  if (type === "non_standard" && isRecord(block["value"])) return blockText(block["value"], resultText);
  const name = "name" in block ? block["name"] : block["title"];
  if (type === "json" || type === "tool_result") return toJson(block) ?? `[${type}]`;
  if (type === "executableCode" || type === "codeExecutionResult") return `[${type}: ${toJson(block[type])}]`;
  return typeof name === "string" ? `[${type}: ${name}]` : `[${type}]`;
}
