/** Shortens results for one model input. The history keeps them complete. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { contentText } from "../messages/content-text.js";
import { copyMessage } from "../messages/copy-message.js";
import { isResult } from "../messages/result.js";
import { isUserMessage } from "../messages/summary.js";
import { countTextTokens, countTokens } from "./count-tokens.js";
import { sumTokens } from "./measure-input.js";

/** At least this many tokens of each result stay readable. */
const LEAST_TOKENS = 40;
/** The share of each older result, relative to the next newer one. */
const SHARE_OF_OLDER = 0.8;
const KEYWORD_LENGTH = 3;

/**
 * Shortens results until the input has at most `budget` tokens. Newer results keep more. Short results stay
 * complete. A long result keeps its beginning and the lines that mention words of the user's request. If the
 * other messages alone exceed the budget, each result becomes as short as possible.
 */
export function shortenResults(input: readonly BaseMessage[], budget: number): BaseMessage[] {
  const excess = sumTokens(input) - budget;
  if (excess <= 0) return input as BaseMessage[];
  const results = input.filter(isResult);
  const available = sumTokens(results) - excess;
  const shares = shareOut(results.map(countTokens), available);
  const keywords = keywordsOf(input.findLast(isUserMessage));
  const shorter = new Map<BaseMessage, BaseMessage>();
  for (const [index, result] of results.entries()) {
    const share = shares[index] ?? LEAST_TOKENS;
    if (countTokens(result) > share) shorter.set(result, excerptOf(result, share, keywords));
  }
  return input.map((message) => shorter.get(message) ?? message);
}

/**
 * Divides the available tokens among results, ordered from old to new. No result gets more than it needs, and
 * newer ones get more.
 */
function shareOut(needs: readonly number[], available: number): number[] {
  const shares = needs.map((need) => Math.min(need, LEAST_TOKENS));
  let left = available - shares.reduce((sum, share) => sum + share, 0);
  let wanting = needs.flatMap((need, index) => (need > LEAST_TOKENS ? [index] : []));
  while (left >= 1 && wanting.length > 0) {
    const weightOf = (index: number) => SHARE_OF_OLDER ** (needs.length - 1 - index);
    const weight = wanting.reduce((sum, index) => sum + weightOf(index), 0);
    const room = left;
    for (const index of wanting) {
      const missing = (needs[index] ?? 0) - (shares[index] ?? 0);
      const part = Math.min(missing, Math.floor((room * weightOf(index)) / weight));
      shares[index] = (shares[index] ?? 0) + part;
      left -= part;
    }
    // Rounding leaves less than one token for each result, so another pass gains nothing.
    if (room - left < wanting.length) break;
    wanting = wanting.filter((index) => (shares[index] ?? 0) < (needs[index] ?? 0));
  }
  return shares;
}

function excerptOf(result: ToolMessage, share: number, keywords: readonly string[]): ToolMessage {
  const text = contentText(result);
  const note = `\n[… shortened from ${text.length} characters]`;
  const frame = countTokens(copyMessage(result, { content: note }));
  const content = `${excerpt(text, Math.max(share - frame, 1), keywords)}${note}`;
  return copyMessage(result, { content });
}

/** The beginning and then, as far as there is room, the lines with a keyword, in order. */
function excerpt(text: string, tokens: number, keywords: readonly string[]): string {
  const relevant = text
    .split("\n")
    .filter((line) => keywords.some((keyword) => line.toLowerCase().includes(keyword)));
  const forLines = relevant.length === 0 ? 0 : Math.floor(tokens / 2);
  const beginning = takeTokens(text, tokens - forLines);
  const rest = relevant.filter((line) => !beginning.includes(line)).join("\n");
  return rest === ""
    ? takeTokens(text, tokens)
    : `${beginning}${BREAK}${takeTokens(rest, forLines - BREAK.length)}`;
}

const BREAK = "\n…\n";

function takeTokens(text: string, tokens: number): string {
  let length = Math.min(text.length, Math.max(tokens, 0) * 4);
  while (length > 0 && countTextTokens(text.slice(0, length)) > tokens) length = Math.floor(length * 0.9);
  return withoutHalf(text.slice(0, length));
}

/** Removes half of a surrogate pair from the end. */
function withoutHalf(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}

/** Long words. In scripts without spaces between words, pairs of characters. */
function keywordsOf(request: BaseMessage | undefined): string[] {
  if (request === undefined) return [];
  const words = contentText(request)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
  return [
    ...new Set(
      words.flatMap((word) =>
        IDEOGRAPHS.test(word) ? pairsOf(word) : word.length > KEYWORD_LENGTH ? [word] : [],
      ),
    ),
  ];
}

const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

function pairsOf(word: string): string[] {
  const characters = [...word];
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}
