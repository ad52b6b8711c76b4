/** A short extractive summary: the first and the last lines of the text. */

import type { BaseMessage } from "@langchain/core/messages";

const REQUEST =
  /\bsummari[sz]e\b|\b(?:write|create|produce|extract|give|make|update|extend)\b[^.\n]{0,60}\bsummary\b|总结|摘要/iu;
const TAGGED = /<(\w+)>\n?([\s\S]*?)\n?<\/\1>/gu;
const HEADING = "Summary of the conversation so far:";
const GAP = "…";
const LINES_AT_EACH_END = 3;
const MAX_LINE_LENGTH = 160;

/** Undefined if neither the system prompt nor the last human message asks for a summary. */
export function summarize(messages: readonly BaseMessage[]): string | undefined {
  const prompt = messages.findLast((message) => message.type === "human");
  const instructions = messages.filter((message) => message.type === "system" || message === prompt);
  if (!instructions.some((message) => REQUEST.test(message.text))) return undefined;
  const conversation = messages.filter((message) => message !== prompt && isSaid(message));
  const given = [...conversation.map((message) => message.text), withoutInstructions(prompt?.text ?? "")];
  const lines = given
    .flatMap((text) => text.split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && line !== HEADING && line !== GAP);
  if (lines.length === 0) return "There is nothing to summarise.";
  const isShort = lines.length <= 2 * LINES_AT_EACH_END;
  const chosen = isShort
    ? lines
    : [...lines.slice(0, LINES_AT_EACH_END), GAP, ...lines.slice(-LINES_AT_EACH_END)];
  return [HEADING, ...chosen.map(shorten)].join("\n");
}

function isSaid(message: BaseMessage): boolean {
  return message.type === "human" || message.type === "ai";
}

/**
 * The text to summarise is in tags if the prompt has any. Otherwise it follows the lines that ask for a
 * summary.
 */
function withoutInstructions(prompt: string): string {
  const tagged = [...prompt.matchAll(TAGGED)].map(([, , content]) => content ?? "");
  const longest = tagged.toSorted((left, right) => right.length - left.length)[0];
  if (longest?.trim()) return longest;
  const lines = prompt.split("\n").filter((line) => !REQUEST.test(line));
  return lines.some((line) => line.trim() !== "") ? lines.join("\n") : prompt;
}

function shorten(line: string): string {
  const characters = [...line];
  return characters.length > MAX_LINE_LENGTH ? `${characters.slice(0, MAX_LINE_LENGTH).join("")}…` : line;
}
