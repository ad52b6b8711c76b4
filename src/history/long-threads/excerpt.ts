/** Shorter forms of a text that is too long, measured in estimated tokens. */

import { isDense, LATIN_CHARACTERS_PER_TOKEN } from "./count-tokens.js";

const BREAK = "\n…\n";
/** More of a text is not searched for keywords. */
const LONGEST_SEARCHED = 400_000;

/** The beginning and then, as far as there is room, the lines with a keyword, in order. */
export function excerptOf(text: string, tokens: number, keywords: readonly string[]): string {
  const relevant = text
    .slice(0, LONGEST_SEARCHED)
    .split("\n")
    .filter((line) => keywords.some((keyword) => line.toLowerCase().includes(keyword)));
  const forLines = relevant.length === 0 ? 0 : Math.floor(tokens / 2);
  const beginning = takeStart(text, tokens - forLines);
  const shown = new Set(beginning.split("\n"));
  const rest = relevant.filter((line) => !shown.has(line)).join("\n");
  return rest === ""
    ? takeStart(text, tokens)
    : `${beginning}${BREAK}${takeStart(rest, forLines - BREAK.length)}`;
}

/** The beginning and the end, around a note on what is missing. The beginning gets two thirds of the room. */
export function cutMiddle(text: string, tokens: number, note: string): string {
  const beginning = takeStart(text, Math.ceil((tokens * 2) / 3));
  const end = takeEnd(text.slice(beginning.length), Math.floor(tokens / 3));
  return `${beginning}${note}${end}`;
}

/** The longest beginning with at most this many tokens. */
function takeStart(text: string, tokens: number): string {
  const length = fittingLength(text.length, tokens, (index) => text.charCodeAt(index));
  return text.slice(0, length > 0 && isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length);
}

function takeEnd(text: string, tokens: number): string {
  const last = text.length - 1;
  const start = text.length - fittingLength(text.length, tokens, (index) => text.charCodeAt(last - index));
  return text.slice(isHighSurrogate(text.charCodeAt(start - 1)) ? start + 1 : start);
}

function fittingLength(length: number, tokens: number, codeAt: (index: number) => number): number {
  let room = tokens * LATIN_CHARACTERS_PER_TOKEN;
  for (let index = 0; index < length; index += 1) {
    room -= isDense(codeAt(index)) ? LATIN_CHARACTERS_PER_TOKEN : 1;
    if (room < 0) return index;
  }
  return length;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** More words than this say nothing more about a request. */
const MOST_KEYWORDS = 40;
const LONGEST_REQUEST = 4_000;
const KEYWORD_LENGTH = 3;
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Long words. In scripts without spaces between words, pairs of characters. */
export function keywordsOf(text: string): readonly string[] {
  const words = text
    .slice(0, LONGEST_REQUEST)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((word) => (IDEOGRAPHS.test(word) ? pairsOf(word) : word.length > KEYWORD_LENGTH ? [word] : []));
  return [...new Set(words)].slice(0, MOST_KEYWORDS);
}

function pairsOf(word: string): string[] {
  const characters = [...word];
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}
