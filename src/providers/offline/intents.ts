/** What the offline model understands without a tool being named: one row for each tool it knows. */

import { PLACES, readPlaces, timeZoneOf } from "./places.js";

/** A wish found in the text from `start` to `end`, and the arguments of the call that fulfils it. */
export interface Wish {
  readonly start: number;
  readonly end: number;
  readonly args: Readonly<Record<string, unknown>>;
}

interface Intent {
  readonly tool: string;
  readonly findWishes: (text: string) => readonly Wish[];
}

/** Where free text such as that of a note ends: another request follows, or nothing. */
const NEXT_REQUEST = /(?:what|how|calculate|compute|search|look up|save|remember (?:that|to)|tell me)\b/
  .source;
const END_OF_TEXT = String.raw`(?=(?:[,;.!?]\s*(?:and\s+)?|\s+and\s+)${NEXT_REQUEST}|[\s。]*$)`;
const END_OF_CLAUSE = String.raw`(?=[,;.?!？。]|\s+and\s+${NEXT_REQUEST}|\s*$)`;
const SAME_CLAUSE = /(?:(?!\band\b)[^,.?!;])*?/.source;

const SAVE_NOTE = String.raw`(?:\b(?:save|take|make|write|add)\s+(?:a\s+|this\s+)?note\b(?:\s+that\b)?|(?<!\byou\s)\bremember\b(?:\s+that\b)?|记住|记下|记一下)[\s:：,，]*(\S.*?)${END_OF_TEXT}`;
const SEARCH_NOTES = String.raw`(?:\b(?:search|find|check|look (?:up|in|through))\s+(?:in\s+|through\s+)?(?:my\s+|the\s+)?notes?(?:\s+(?:for|about|on|with))?\b|\bdo you remember(?:\s+(?:anything\s+)?about)?\b|(?:搜索|查找|查)笔记)[\s:：]*([^\s,;.?!？。][^,;.?!？。]*?)${END_OF_CLAUSE}`;
const LIST_NOTES = String.raw`\b(?:list|show)\s+(?:me\s+)?(?:all\s+)?(?:my\s+|the\s+)?notes\b`;
const WEATHER = String.raw`\b(?:weather|forecast|temperature)\b${SAME_CLAUSE}\b(?:in|for|at) ${PLACES}`;
const CHINESE_WEATHER = String.raw`(?:今天|现在|请问|查询|查|和)*((?!今天|现在|请问|查询)\p{Script=Han}{2,3}?)(?:的|今天|现在)*天气`;
const TIME = String.raw`\b(?:(?:what(?:['’]s| is)?(?: the)?|the) (?:(?:current|local) )?time|(?:current|local) time|time is it|^time(?= in ))\b(?:${SAME_CLAUSE}\b(?:in|for|at) ${PLACES})?`;
const CHINESE_TIME = String.raw`(?:请问)?((?!请问|现在)\p{Script=Han}{2})?的?(?:现在)?(?:是)?几点`;
const ARITHMETIC_CUE =
  /\b(?:what(?:['’]s| is)|how much|calculat\w+|compute|evaluate)\b|=|计算|算|等于|多少|^[\s\d.+*/^()×÷-]+$/iu;
const EXPRESSION = String.raw`[-(\d][\d\s.+*/^()×÷-]*[\d)]`;
const HAS_OPERATION = /[\d)]\s*[+*/^×÷-]\s*[-(\d]/u;
const DATE = /^\d{1,4}([-/])\d{1,2}\1\d{1,4}$/u;

/**
 * Free text comes first: what stands within a note or a query is no wish of its own. Words that belong to one row
 * are not given to a later one.
 */
export const INTENTS: readonly Intent[] = [
  {
    tool: "save_note",
    findWishes: (text) => findAll(text, SAVE_NOTE, ([, note]) => [{ text: plain(note) }]),
  },
  {
    tool: "search_notes",
    findWishes: (text) => [
      ...findAll(text, SEARCH_NOTES, ([, query]) => [{ query: plain(query) }]),
      ...findAll(text, LIST_NOTES, () => [{ query: "" }]),
    ],
  },
  {
    tool: "weather",
    findWishes: (text) => [
      ...findAll(text, WEATHER, ([, first, further]) => readPlaces(first, further).map((city) => ({ city }))),
      ...findAll(text, CHINESE_WEATHER, ([, city]) => [{ city }]),
    ],
  },
  {
    tool: "current_time",
    findWishes: (text) => [
      ...findAll(text, TIME, ([, first, further]) => timesIn(readPlaces(first, further))),
      ...findAll(text, CHINESE_TIME, ([, city]) => timesIn(readPlaces(city, undefined))),
    ],
  },
  {
    tool: "calculator",
    findWishes: (text) =>
      ARITHMETIC_CUE.test(text)
        ? findAll(text, EXPRESSION, ([expression]) =>
            isArithmetic(expression) ? [{ input: toAscii(expression) }] : [],
          )
        : [],
  },
];

function findAll(
  text: string,
  pattern: string,
  toArgs: (match: RegExpExecArray) => readonly Readonly<Record<string, unknown>>[],
): Wish[] {
  return [...text.matchAll(new RegExp(pattern, "gisu"))].flatMap((match) =>
    toArgs(match).map((args) => ({ start: match.index, end: match.index + match[0].length, args })),
  );
}

function timesIn(places: readonly string[]): Readonly<Record<string, unknown>>[] {
  return places.length === 0 ? [{}] : places.map((place) => ({ timezone: timeZoneOf(place) }));
}

function isArithmetic(expression: string): boolean {
  return HAS_OPERATION.test(expression) && !DATE.test(expression.trim());
}

function toAscii(expression: string): string {
  return expression.trim().replaceAll("×", "*").replaceAll("÷", "/").replaceAll("**", "^");
}

function plain(text: string | undefined): string {
  return (text ?? "").trim().replace(/^(["'“])(.*)["'”]$/su, "$2");
}
