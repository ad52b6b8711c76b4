/** Wishes that contain words of the user: the text of a note, or a search query. */

import { FILED_NOTE, LIST_CUE, SAVE_CUE, SEARCH_CUE } from "./note-cues.js";
import { findSums } from "./sums.js";
import { findTimes, findWeather } from "./topics.js";
import { matchAll, toWishes, type Wish } from "./wish.js";

/**
 * The text between two wishes. An "and" can also join two parts of one note, so it is not a clear separator.
 *
 * The white space before it is bounded, because it is searched at each place of the text.
 */
const SEPARATOR =
  /(?<clear>\s{0,9}[,;.!?，；。！？\n]\s*(?:(?:and|also|plus|then)\b[\s,]*)*|\s{1,9}(?:and\s+)?(?:also|plus)\b[\s,]*)|\s{1,9}(?:and|&)\s+/gisu;
const CLAUSE_END = /[,;.?!？。，\n]/u;
const QUOTED = /^["“'](?<quoted>[^"”]+?)["”'](?=[\s,;.?!]|$)/u;
/** At the end of the words. */
const COURTESY_LENGTH = 100;
const COURTESY = /(?:[\s,.]*\b(?:please|thanks|thank you)\b[\s.!]*)?[\s。?？]*$/iu;

/** The beginning of a request fits into this many characters. A note can be long, so the rest is not read. */
const OPENING_LENGTH = 200;

const POLITE = String.raw`(?:(?:please|can you|could you|would you|tell me|give me|show me|check)\s+)*`;
const ARTICLE = String.raw`(?:(?:the|current)\s+)*`;
const LEAD_IN = new RegExp(String.raw`^${POLITE}(?:(?:what|how)(?:['’]?s| is| are)?\s+)?${ARTICLE}`, "iu");
const COMMAND = new RegExp(`^${POLITE}(?:${SAVE_CUE}|${SEARCH_CUE}|${LIST_CUE})`, "isu");
const ASKING =
  /^(?:what|how|is it|will it|does it|tell|give|show|check|please|can|could|would|calculat|compute)/iu;
/** "The weather in Oslo is nice" is not a request. */
const STATING = /^(?:(?!\band\b)[^,;.?!])*\b(?:is|was|were)\b(?! it\b)/iu;

/** A note ends where another request begins, or where a clear separator is followed by the name of one. */
export function findNotes(text: string): Wish[] {
  const notes = findFreeText(
    text,
    SAVE_CUE,
    (rest, isClear) => isAsked(rest) || (isClear && isNamed(rest) && !STATING.test(rest)),
  );
  return [
    ...notes.map(({ words, ...span }) => ({ ...span, args: { text: words } })),
    ...matchAll(text, FILED_NOTE).flatMap((match) =>
      toWishes(match, { text: unquote(match.groups?.["text"] ?? "") }),
    ),
  ];
}

/** A query is short: it ends with its clause, or where another wish begins. */
export function findQueries(text: string): Wish[] {
  const queries = findFreeText(
    text,
    SEARCH_CUE,
    (rest, isClear, separator) => (isClear && CLAUSE_END.test(separator)) || isAsked(rest) || isNamed(rest),
  );
  return [
    ...queries.map(({ words, ...span }) => ({ ...span, args: { query: words } })),
    ...matchAll(text, LIST_CUE).flatMap((match) => toWishes(match, { query: "" })),
  ];
}

type IsEnd = (rest: string, isClear: boolean, separator: string) => boolean;

interface FreeText {
  readonly start: number;
  readonly end: number;
  readonly words: string;
}

function findFreeText(text: string, cue: string, isEnd: IsEnd): FreeText[] {
  const found: FreeText[] = [];
  for (const match of matchAll(text, `(?:${cue})[\\s:：,，-]*`)) {
    const isInside = match.index < (found.at(-1)?.end ?? 0);
    const begin = match.index + match[0].length;
    const words = isInside ? "" : readWords(text.slice(begin), isEnd);
    if (words !== "")
      found.push({ start: match.index, end: begin + words.length, words: unquote(words.trim()) });
  }
  return found;
}

function readWords(rest: string, isEnd: IsEnd): string {
  const quoted = QUOTED.exec(rest);
  if (quoted !== null) return quoted[0];
  const words = rest.slice(0, findEnd(rest, isEnd)).trimEnd();
  return words.slice(0, -COURTESY_LENGTH) + words.slice(-COURTESY_LENGTH).replace(COURTESY, "");
}

/** Where the separator before the next wish is. Undefined if there is none. */
function findEnd(rest: string, isEnd: IsEnd): number | undefined {
  for (const { 0: found, index, groups } of rest.matchAll(SEPARATOR)) {
    const next = index + found.length;
    if (isEnd(rest.slice(next, next + OPENING_LENGTH), groups?.["clear"] !== undefined, found)) return index;
  }
  return undefined;
}

function isAsked(rest: string): boolean {
  return (
    COMMAND.test(rest) || (ASKING.test(rest) && beginsWith([...findSums(rest), ...findTopics(rest)], rest))
  );
}

function isNamed(rest: string): boolean {
  return beginsWith(findTopics(rest), rest);
}

function findTopics(text: string): Wish[] {
  return [...findWeather(text), ...findTimes(text)];
}

function beginsWith(wishes: readonly Wish[], text: string): boolean {
  const leadIn = LEAD_IN.exec(text)?.[0].length ?? 0;
  return wishes.some(({ start }) => start <= leadIn);
}

function unquote(words: string): string {
  return QUOTED.exec(words)?.groups?.["quoted"] ?? words;
}
