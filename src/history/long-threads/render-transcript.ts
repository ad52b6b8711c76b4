/** Renders a history as a text for a summariser. */

import type { BaseMessage } from "@langchain/core/messages";
import { toJson } from "../../shared/to-json.js";
import { argumentsOf, callsOf } from "../messages/call.js";
import { contentText } from "../messages/content-text.js";
import { isResult } from "../messages/result.js";
import { countTextTokens } from "./count-tokens.js";

const SPEAKERS: Readonly<Record<string, string>> = {
  human: "User",
  ai: "Assistant",
  system: "System",
  tool: "Tool",
};

/** One paragraph for each message. Calls have their arguments; results have their tool and status. */
export function renderMessage(message: BaseMessage): string {
  const speaker = SPEAKERS[message.type] ?? message.type;
  const lines = [contentText(message)].filter((text) => text !== "");
  if (isResult(message)) {
    const status = message.status === "error" ? ", error" : "";
    return `${speaker} ${message.name ?? ""} (${message.tool_call_id}${status}): ${lines.join("\n")}`;
  }
  const written = argumentsOf(message);
  for (const [index, call] of callsOf(message).entries()) {
    const args = written[index];
    lines.push(
      `[calls ${call.name} (${call.id}): ${typeof args === "string" ? args : (toJson(args) ?? "")}]`,
    );
  }
  return `${speaker}: ${lines.join("\n")}`;
}

/**
 * The messages in pieces of at most `tokensPerPiece` tokens, for a summariser that reads them one after the
 * other. Nothing is left out: a message that is too long for a piece continues in the next one.
 */
export function renderTranscript(messages: readonly BaseMessage[], tokensPerPiece: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  let tokens = 0;
  for (const paragraph of messages.flatMap((message) => splitText(renderMessage(message), tokensPerPiece))) {
    // At most one token more than the joined text has.
    const joined = tokens + countTextTokens(`\n\n${paragraph}`);
    if (piece !== "" && joined > tokensPerPiece) {
      pieces.push(piece);
      piece = "";
    }
    tokens = piece === "" ? countTextTokens(paragraph) : joined;
    piece = piece === "" ? paragraph : `${piece}\n\n${paragraph}`;
  }
  return piece === "" ? pieces : [...pieces, piece];
}

function splitText(text: string, tokens: number): string[] {
  const parts: string[] = [];
  for (let start = 0; ; ) {
    // One character for each token always fits; four fit in Latin text, and more never do.
    const left = text.slice(start, start + tokens * 4 + 1);
    if (countTextTokens(left) <= tokens) return [...parts, left];
    const length =
      [tokens * 4, tokens].find((count) => countTextTokens(left.slice(0, count)) <= tokens) ?? tokens;
    const end = Math.max(isHighSurrogate(left, length - 1) ? length - 1 : length, 1);
    parts.push(left.slice(0, end));
    start += end;
  }
}

function isHighSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code <= 0xdbff;
}
