/** The phrases that the served graph's offline model understands, and what it says about their results. */

import { findInside, findLiteralCalls, type PlannedCall } from "../../src/providers/offline/literal-calls.js";
import type { OfflineLanguage } from "../../src/providers/offline/offline-chat-model.js";

export const QUESTIONS: OfflineLanguage = {
  findCalls,
  stateResult: ({ name, args }, content) => {
    if (name === "calculator") return `${args["input"]} = ${content}`;
    return ["weather", "save_note", "search_notes"].includes(name) ? content : undefined;
  },
  examples:
    'Ask for several things at once ("What is 12*(3+4), and what is the weather in Paris?"), ' +
    'in steps ("calculate 6*7 then save a note: the answer is 42"), or',
};

/** The first sign after the beginning is the only one that has a part of its own. */
const SUM = String.raw`(?<words>[\d(-][\d.() ]*[-+*/^%×÷][\d.+*/^%()×÷ -]*[\d)])`;
const BEGIN = String.raw`(?:^|[.,;!?，。；！？\n]|\band\b|\balso\b) {0,3}(?:please )?`;
const CITY = String.raw`(?<words>(?!and\b)\p{L}[\p{L}'’-]*(?: (?!and\b|now\b|today\b|right\b|please\b)\p{L}[\p{L}'’-]*){0,3})`;

/** What a user says, with the tool and argument for its words. A note continues to the end of the text. */
const PHRASES: readonly (readonly [says: RegExp, tool: string, argument: string])[] = [
  [phrase(`(?:what is|what['’]s|how much is|calculate|compute|计算) ?${SUM}`), "calculator", "input"],
  [phrase(`^ ?${SUM}[ ?=]{0,3}$`), "calculator", "input"],
  [
    phrase(`\\b(?:weather|forecast|temperature)(?: like)?(?: today)? (?:in|for|at) ${CITY}`),
    "weather",
    "city",
  ],
  [phrase(`\\bis it (?:\\p{L}+) in ${CITY}`), "weather", "city"],
  [phrase("(?<words>\\p{Script=Han}{2})(?:的|今天|现在)?天气"), "weather", "city"],
  [phrase(`${BEGIN}(?:save|take|make|add) (?:a )?note:?\\s(?<words>[^]+)`), "save_note", "text"],
  [phrase(`${BEGIN}note(?: to self)?: ?(?<words>[^]+)`), "save_note", "text"],
  [phrase(`${BEGIN}(?:remember|记住)(?: that| to)?[:： ]{0,2}(?<words>[^]+)`), "save_note", "text"],
  [
    phrase(`${BEGIN}(?:search|list|show|read) my notes(?: for| about)?(?<words>[^,;.!?\n]*)`),
    "search_notes",
    "query",
  ],
  [phrase("搜索笔记[:： ]{0,2}(?<words>[^，。；！？]*)"), "search_notes", "query"],
];

function phrase(pattern: string): RegExp {
  return new RegExp(pattern, "giu");
}

/**
 * The calls that the text asks for, in text order. A tool that is called by name takes precedence over phrases. Words
 * in a note or a query are not read as requests.
 */
export function findCalls(text: string, toolNames: ReadonlySet<string>): PlannedCall[] {
  const found = PHRASES.flatMap(([says, name, argument]) =>
    [...text.matchAll(says)].map((match) => {
      const words = (match.groups?.["words"] ?? "").trim().replace(/[.!?。！？]$/, "");
      const args = { [argument]: words.replaceAll("×", "*").replaceAll("÷", "/") };
      return { name, args, start: match.index, end: match.index + match[0].length };
    }),
  ).sort((one, other) => one.start - other.start);
  const wishes: typeof found = [];
  for (const wish of found) if (wish.start >= (wishes.at(-1)?.end ?? 0)) wishes.push(wish);
  const isInside = findInside(wishes);
  const literal = findLiteralCalls(text, toolNames).filter(({ start }) => !isInside(start));
  if (literal.length > 0) return literal.map(({ name, args = {} }) => ({ name, args }));
  return wishes.filter(({ name }) => toolNames.has(name)).map(({ name, args }) => ({ name, args }));
}
