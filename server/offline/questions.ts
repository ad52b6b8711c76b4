/** The questions in words that the offline model of the served graph understands, and what it says of their results. */

import { findLiteralCalls, type PlannedCall } from "../../src/offline/literal-calls.js";
import type { OfflineLanguage } from "../../src/offline/offline-chat-model.js";

/** English, and a little Chinese, about the tools of the served graph. */
export const QUESTIONS: OfflineLanguage = {
  findCalls,
  stateResult: ({ name, args }, content) => {
    if (name === "calculator") return `${args["input"]} = ${content}`;
    return ["weather", "current_time", "save_note", "search_notes"].includes(name) ? content : undefined;
  },
  examples:
    'Ask for several things at once ("What is 12*(3+4), and what time is it in Tokyo?"), ' +
    'in steps ("calculate 6*7 then save a note: the answer is 42"), or',
};

/**
 * The calls that the text asks for, in the order of the text. A tool that is called by its name takes precedence over
 * other meanings of the text. Words within a note or a query are not read as requests.
 */
export function findCalls(text: string, toolNames: ReadonlySet<string>): PlannedCall[] {
  const wishes = findWishes(text);
  const literal = findLiteralCalls(text, toolNames).filter(
    ({ start }) => !wishes.some((wish) => wish.start < start && start < wish.end),
  );
  const wished = wishes.filter(({ name }) => toolNames.has(name));
  if (literal.length === 0) return wished.map(({ name, args }) => ({ name, args }));
  // "use calculator for 6*7" names the tool, and describes its arguments in words.
  return literal.map(({ name, args }) => ({
    name,
    args: args ?? wished.find((call) => call.name === name)?.args ?? {},
  }));
}

/** A call, and the words of the user that are in its arguments: the text of a note, or a query. */
interface Wish extends PlannedCall {
  readonly start: number;
  readonly end: number;
}

interface Clause {
  readonly text: string;
  readonly start: number;
  /** Where the clause before it ends. What is between them joins the two. */
  readonly joint: number;
  readonly isListed: boolean;
}

const JOINT = /[,;!?，；。！？\n]|\.(?!\d)|\b(?:and|also|or|plus(?!\s*[\d(]))\b/giu;
/** A client chooses the text, and a pattern can take long for a long one. No question needs more characters. */
const LONGEST_CLAUSE = 300;

function clausesOf(text: string): Clause[] {
  const joints = [...text.matchAll(JOINT), { index: text.length, 0: "" }];
  const clauses: Clause[] = [];
  let [joint, start, isListed] = [0, 0, false];
  for (const { index, 0: mark } of joints) {
    const clause = text.slice(start, index).trim();
    if (clause !== "") {
      clauses.push({ text: clause.slice(0, LONGEST_CLAUSE), start, joint, isListed });
      joint = index;
    }
    isListed = /^(?:and|or)$/iu.test(mark);
    start = index + mark.length;
  }
  return clauses;
}

const POLITE = `(?:(?:please|can you|could you|then) ){0,3}`;
const A_NOTE = String.raw`(?:(?:a|an|this|another|the) )?(?:new )?note\b(?: to (?:self|myself)\b)?`;
const NOTES = String.raw`(?:in |through )?(?:all )?(?:of )?(?:my |the )?notes?\b`;
/** What follows is the text of a note. */
const SAVING = new RegExp(
  `^${POLITE}(?:(?:save|take|make|write|add) (?:down )?${A_NOTE}|note(?: down| to (?:self|myself)|(?=:| that\\b))|(?:write|jot) down\\b|remember\\b|don['’]?t forget\\b|记住|记一?下)(?: (?:that|to)\\b)?[\\s:：]*`,
  "iu",
);
/** What follows is a query. Without one, all notes are meant. */
const SEARCHING = new RegExp(
  `^${POLITE}(?:(?:search|check|look|find|list|show|read)(?: me)? ${NOTES}|what did i note\\b|did i save a note\\b|do you remember\\b|(?:搜索|查找|查)笔记)(?: (?:about|for|on|with)\\b)?[\\s:：]*`,
  "iu",
);
const WEATHER =
  /\b(?:weather|forecast|temperature)\b|\bhow (?:warm|cold|hot|windy) is it\b|\bis it (?:rain|snow|sunny|cloudy|windy|warm|cold|hot)|天气/iu;
const TIME =
  /\bwhat time\b|\b(?:what['’]?s the|what is the|the|current|local) time\b|^time (?:in|for)\b|几点/iu;
const PLACE = /.*\b(?:in|for|at) (?<city>\p{L}.*)$/iu;
const CHINESE_PLACE =
  /(?:今天|现在|请问|查询|查)*(?<city>\p{Script=Han}{2}?)(?:的|今天|现在|是)*(?:天气|几点)/u;
const COURTESY = /(?:^|\s+)(?:right now|now|today|tonight|please|thanks|thank you|there)\b.*$/iu;

/** The wishes of each clause. One can say only what is new, as in `weather in Oslo, Rome and Lima`. */
function findWishes(text: string): Wish[] {
  const wishes: Wish[] = [];
  const clauses = clausesOf(text);
  /** Of the clause before: its topic, its place, and whether its place is still to come. */
  let topic: Topic | undefined;
  let place: string | undefined;
  let isOpen = false;
  for (let clause = clauses.shift(); clause !== undefined; clause = clauses.shift()) {
    const wish = (call: PlannedCall, end = 0) => wishes.push({ ...call, start, end });
    const { text: said, start } = clause;
    const searching = SEARCHING.exec(said);
    const cue = searching ?? SAVING.exec(said);
    const next = topicOf(said);
    const sum = sumIn(said);
    if (cue !== null) {
      const next = clauses.findIndex((other) => isRequest(other.text));
      clauses.splice(0, next === -1 ? clauses.length : next);
      const end = clauses[0]?.joint ?? text.length;
      const words = tidy(text.slice(text.indexOf(cue[0], start) + cue[0].length, end));
      if (searching !== null) wish({ name: "search_notes", args: { query: words } }, end);
      else if (words !== "") wish({ name: "save_note", args: { text: words } }, end);
    } else if (next !== undefined) {
      const named = placeIn(said);
      place = named ?? (next === "weather" || /\bthere\b/iu.test(said) ? place : undefined);
      if (isOpen && place !== undefined) wish(callFor("weather", place));
      isOpen = next === "weather" && place === undefined;
      if (!isOpen) wish(callFor(next, place));
      topic = next;
    } else if (sum !== undefined) {
      wish({ name: "calculator", args: { input: sum } });
    } else if (topic !== undefined && place !== undefined) {
      const other = placeIn(said) ?? placeIn(`in ${said}`) ?? "";
      const isPlace = isKnownCity(other) || (clause.isListed && /^\p{Lu}/u.test(other));
      if (isPlace) wish(callFor(topic, other));
    }
  }
  return wishes;
}

type Topic = "weather" | "current_time";

function topicOf(clause: string): Topic | undefined {
  if (WEATHER.test(clause)) return "weather";
  return TIME.test(clause) ? "current_time" : undefined;
}

function callFor(topic: Topic, place: string | undefined): PlannedCall {
  if (topic === "weather") return { name: topic, args: { city: place } };
  return {
    name: topic,
    args: place === undefined ? {} : { timezone: ZONES.get(place.toLowerCase()) ?? place },
  };
}

/** A note and a query end before such a clause. */
function isRequest(clause: string): boolean {
  const isTopic = topicOf(clause) !== undefined && placeIn(clause) !== undefined;
  const isAsked = /^(?:what|how|calculat|compute|tell)/iu.test(clause);
  return (
    SAVING.test(clause) ||
    SEARCHING.test(clause) ||
    isTopic ||
    (isAsked && (TIME.test(clause) || sumIn(clause) !== undefined))
  );
}

function tidy(words: string): string {
  const text = words.trim().replace(/(?:[\s,]*\b(?:please|thanks)\b)?[.!?。？]?$/iu, "");
  return /^["“](?<quoted>[^"”]+)["”]$/u.exec(text)?.groups?.["quoted"] ?? text;
}

function placeIn(clause: string): string | undefined {
  const named = (PLACE.exec(clause) ?? CHINESE_PLACE.exec(clause))?.groups?.["city"];
  return named?.replace(COURTESY, "") || undefined;
}

/** Words for operators. A word counts only between numbers. */
const OPERATORS: readonly (readonly [pattern: RegExp, operator: string])[] = [
  [/\s*(?:×|\btimes\b|\bmultiplied by\b)\s*/giu, "*"],
  [/\s*(?:÷|\bdivided by\b)\s*/giu, "/"],
  [/\s*\bplus\b\s*/giu, "+"],
  [/\s*\bminus\b\s*/giu, "-"],
];
const OPERATOR = String.raw`(?:[+*/^×÷-]|\b(?:times|multiplied by|divided by|plus|minus)\b)`;
const OPERAND = String.raw`[-(]*\s?\d+(?:\.\d+)?\)*`;
const SUM = new RegExp(String.raw`(?<![\w.])${OPERAND}(?:\s?${OPERATOR}\s?${OPERAND})+(?![\w/-])`, "iu");
const ASKED = /^.{0,40}(?:what|how much|how many|calculat|compute|solve|use|call|计算|算)/iu;
const DATE = /^\d{1,4}([-/])\d{1,2}\1\d{1,4}$/u;

/** An expression that is asked for, or stands alone. */
function sumIn(clause: string): string | undefined {
  const sum = SUM.exec(clause)?.[0].trim();
  if (sum === undefined || DATE.test(sum) || !(ASKED.test(clause) || sum === clause)) return undefined;
  return OPERATORS.reduce((text, [pattern, operator]) => text.replace(pattern, operator), sum);
}

/** A time zone is named after its best known city. */
const ZONES: ReadonlyMap<string, string> = new Map([
  ...Intl.supportedValuesOf("timeZone").map((zone) => {
    const city = zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ");
    return [city.toLowerCase(), zone] as const;
  }),
  ["beijing", "Asia/Shanghai"],
  ["san francisco", "America/Los_Angeles"],
  ["mumbai", "Asia/Kolkata"],
  ["北京", "Asia/Shanghai"],
  ["上海", "Asia/Shanghai"],
  ["东京", "Asia/Tokyo"],
  ["伦敦", "Europe/London"],
  ["巴黎", "Europe/Paris"],
]);

function isKnownCity(name: string): boolean {
  return ZONES.has(name.toLowerCase());
}
