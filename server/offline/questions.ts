/** The questions in words that the offline model of the served graph understands, and what it says of their results. */

import { findLiteralCalls, type PlannedCall } from "../../src/offline/literal-calls.js";
import type { OfflineLanguage } from "../../src/offline/offline-chat-model.js";

/** English, and a little Chinese, about the tools of the served graph. */
export const QUESTIONS: OfflineLanguage = {
  findCalls,
  stateResult: ({ name, args }, content) => {
    if (name === "calculator") return `${args["input"]} = ${content}`;
    return INTENTS.some(({ tool }) => tool === name) ? content : undefined;
  },
  examples:
    'Ask for several things at once ("What is 12*(3+4), and what time is it in Tokyo?"), ' +
    'in steps ("calculate 6*7 then save a note: the answer is 42"), or',
};

/*
 * Patterns for the beginnings of wishes about notes.
 */

/**
 * Precedes a verb that begins a wish. Elsewhere "note" is a noun. The white space is bounded, because this is checked
 * at each place of a text.
 */
const IMPERATIVE = String.raw`(?<=^\s{0,9}|[,;.!?:]\s{0,9}|\b(?:and|also|plus|then|please|you|to)\s{1,9})`;
const A_NOTE = String.raw`(?:(?:a|an|this|another|the)\s+)?(?:new\s+)?note\b(?:\s+to (?:self|myself)\b)?`;
const NOTES = String.raw`(?:(?:all|any|a)\s+)?(?:of\s+)?(?:(?:my|the)\s+)?(?:saved\s+)?notes?\b`;
const ABOUT = String.raw`(?:about|for|on|with|mentioning|containing)\b`;
const I = "(?:i|we|you)";
const ANYTHING = "(?:(?:anything|something|a note|any notes?) )?";

/** The text of a note follows. */
const SAVE_CUE = [
  String.raw`\b(?:save|take|make|write|add|create|leave|keep)\s+(?:down\s+)?${A_NOTE}(?:\s+(?:that|saying|to)\b)?`,
  String.raw`${IMPERATIVE}note(?: down(?: that)?\b| that\b| to (?:self|myself)\b|(?=\s*:))`,
  String.raw`\b(?:write|jot) down\b(?: that\b)?`,
  String.raw`(?<!\b(?:you|i|we|not|cannot|never)\s|n['’]t\s)\bremember\b(?: (?:that|to)\b)?`,
  String.raw`\bdon['’]?t forget\b(?: (?:that|to)\b)?`,
  "记住|记下|记一下",
].join("|");

/** The other word order: `add eggs to my notes`. */
const FILED_NOTE = String.raw`\b(?:save|add|put|store)\s+(?<text>[^,;.?!\n]{1,500}?)\s+(?:as a note|(?:in|into|to) (?:my|the) notes)\b`;

/** A search query follows. */
const SEARCH_CUE = [
  String.raw`\b(?:search|check|browse|look (?:up|in|into|through)|go through)\s+(?:in\s+|through\s+)?${NOTES}(?:\s+${ABOUT})?`,
  String.raw`\b(?:find|get|list|show|read) (?:me )?${NOTES}\s+${ABOUT}`,
  String.raw`\bwhat (?:do|did|have) (?:${I}|${NOTES}) (?:noted?|write|written|saved?|say)(?: down)? ${ABOUT}`,
  String.raw`\b(?:did|have) ${I} (?:saved?|made?|make|noted?|write|written)(?: down)? ${ANYTHING}${ABOUT}`,
  String.raw`\b(?:do|did) ${I} remember\b(?: ${ANYTHING}about\b)?`,
  String.raw`\b(?:what(?:['’]?s| is)|(?:is|are) there(?: anything)?)(?: in)? ${NOTES} ${ABOUT}`,
  `${IMPERATIVE}(?:my |any )?notes ${ABOUT}`,
  "(?:搜索|查找|查)笔记",
].join("|");

/** Asks for all notes if no query follows. */
const LIST_CUE = [
  String.raw`\b(?:list|show|read) (?:me )?${NOTES}`,
  String.raw`\bwhat (?:did|have) i (?:noted?|written down|write down)\b`,
  String.raw`\bwhat(?:['’]?s| is| are)(?: in)? my notes\b`,
].join("|");

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
function findNotes(text: string): Wish[] {
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
function findQueries(text: string): Wish[] {
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

/*
 * Finds the tool calls that fulfil a request.
 */

interface Span {
  readonly start: number;
  readonly end: number;
}

type PlacedCall = PlannedCall & Span;

/**
 * The calls that the text asks for, in the order of the text. A tool that is called by its name takes
 * precedence over other meanings of the text. Words within a note or a query are not read as requests.
 */
export function findCalls(text: string, toolNames: ReadonlySet<string>): PlannedCall[] {
  const freeText = withoutOverlaps(findWishes(text, "free-text"));
  const literal = findLiteralCalls(text, toolNames).filter(
    (call) => !freeText.some((wish) => wish.start < call.start && overlap(wish, call)),
  );
  const topics = partsOf(blankOut(text, freeText)).flatMap((part) =>
    findWishes(part.text, "topic").map((wish) => shift(wish, part.start)),
  );
  const wished = [...freeText, ...topics].filter(({ name }) => toolNames.has(name));
  if (literal.length === 0) return wished.sort(byStart).map(({ name, args }) => ({ name, args }));
  // "use calculator for 6*7" names the tool, and describes its arguments in words.
  return literal.map(({ name, args }) => ({
    name,
    args: args ?? wished.find((call) => call.name === name)?.args ?? {},
  }));
}

function findWishes(text: string, kind: "free-text" | "topic"): PlacedCall[] {
  return INTENTS.filter((intent) => intent.kind === kind).flatMap((intent) =>
    intent.findWishes(text).map((wish) => ({ name: intent.tool, ...wish })),
  );
}

/** If wishes overlap, the one that begins first stays. */
function withoutOverlaps(calls: readonly PlacedCall[]): PlacedCall[] {
  const kept: PlacedCall[] = [];
  for (const call of calls.toSorted(byStart)) {
    const before = kept.at(-1);
    if (before === undefined || !overlap(before, call)) kept.push(call);
  }
  return kept;
}

/** Replaces the spans by separators of the same length, so that later matches keep their positions. */
function blankOut(text: string, spans: readonly Span[]): string {
  return spans.reduce(
    (rest, { start, end }) => rest.slice(0, start) + ";".repeat(end - start) + rest.slice(end),
    text,
  );
}

function shift(call: PlacedCall, by: number): PlacedCall {
  return { ...call, start: call.start + by, end: call.end + by };
}

function overlap(left: Span, right: Span): boolean {
  return left.start < right.end && right.start < left.end;
}

function byStart(left: Span, right: Span): number {
  return left.start - right.start;
}

/*
 * Finds requests for the weather and for the time, in one place or in several.
 */

const SKY = "(?:rain(?:ing|y)?|snow(?:ing)?|sunny|cloudy|windy|freezing|warm|cold|hot|wet|dry)";
const WEATHER = String.raw`\b(?:weather|forecast|temperatures?|how ${SKY} (?:is|was|will) it|(?:is|does|will) it (?:be )?${SKY})\b`;
const CHINESE_WEATHER = String.raw`(?:今天|现在|请问|查询|查|和)*((?!今天|现在|请问|查询)\p{Script=Han}{2,3}?)(?:的|今天|现在)*天气`;

const TIME = [
  String.raw`\b(?:what(?:['’]?s| is)?(?: the)?|the|tell me(?: the)?) (?:(?:current|local|exact) )?time\b(?! (?:zone|of|when|that|i|we|to)\b)`,
  String.raw`\b(?:current|local) time\b|\btime is it\b|\bhow late is it\b`,
  String.raw`(?<=^\s*|[,;.?!]\s*|\b(?:and|also|plus|then|please)\s+)time\b(?= (?:in|for|and)\b)`,
  String.raw`\bwhat day is (?:it|today)\b|\bwhat(?:['’]?s| is) (?:the|today['’]?s) date\b`,
].join("|");
const CHINESE_TIME = String.raw`(?:请问)?((?!请问|现在)\p{Script=Han}{2})?的?(?:现在)?(?:是)?几点`;

/** "The weather and the time in Oslo" names the place once, for both. */
const OTHER_TOPIC = String.raw`(?: and (?:the )?(?:(?:current|local) )?(?:weather|forecast|temperature|time)\b)?`;
const IN_CLAUSE = /(?:(?!\band\b)[^,.?!;\n])*?/.source;
const TO_PLACE = String.raw`(?:${OTHER_TOPIC}${IN_CLAUSE}\b(?:in|for|at)\s+(?=\S))`;
const THERE = String.raw`(?:${IN_CLAUSE}\bthere\b)`;

function findWeather(text: string): Wish[] {
  return [
    ...matchAll(text, `(?:${WEATHER})${TO_PLACE}?`).flatMap((match) =>
      // A call without a city would fail, so the city named earlier in the text is used.
      toWishes(match, ...placesFor(text, match, findPlacesBefore).map((city) => ({ city }))),
    ),
    ...matchAll(text, CHINESE_WEATHER).flatMap((match) => toWishes(match, { city: match[1] })),
  ];
}

function findTimes(text: string): Wish[] {
  return [
    ...matchAll(text, `(?:${TIME})(?:${TO_PLACE}|(?<there>${THERE}))?`).flatMap((match) =>
      toWishes(match, ...timesIn(placesFor(text, match, match.groups?.["there"] ? findPlacesBefore : none))),
    ),
    ...matchAll(text, CHINESE_TIME).flatMap((match) =>
      toWishes(match, ...timesIn(match[1] ? [match[1]] : [])),
    ),
  ];
}

type FindPlaces = (text: string, position: number) => string[];

function placesFor(text: string, match: RegExpExecArray, otherwise: FindPlaces): string[] {
  const isNamed = /\b(?:in|for|at)\s+$/iu.test(match[0]);
  const named = isNamed ? readPlacesAt(text, match.index + match[0].length) : [];
  return named.length > 0 ? named : otherwise(text, match.index);
}

function findPlacesBefore(text: string, position: number): string[] {
  const preposition = matchAll(text.slice(0, position), String.raw`\b(?:in|for|at)\s+(?=\p{L})`).at(-1);
  return preposition === undefined ? [] : readPlacesAt(text, preposition.index + preposition[0].length);
}

function none(): string[] {
  return [];
}

function timesIn(places: readonly string[]): Readonly<Record<string, unknown>>[] {
  return places.length === 0 ? [{}] : places.map((place) => ({ timezone: timeZoneOf(place) }));
}

/*
 * Finds arithmetic in a request: `what is 12*(3+4)`, `calculate 3 times 4 and 5-2`, or an expression alone.
 */

/** Words for operators. A word counts only between numbers. */
const OPERATORS: readonly (readonly [pattern: RegExp, operator: string])[] = [
  [/\s*(?:×|\btimes\b|\bmultiplied by\b)\s*/giu, "*"],
  [/\s*(?:÷|\bdivided by\b)\s*/giu, "/"],
  [/\s*\bplus\b\s*/giu, "+"],
  [/\s*\bminus\b\s*/giu, "-"],
  [/\s*(?:\*\*|\bto the power of\b)\s*/giu, "^"],
];

const OPERATOR = String.raw`(?:\*\*|[+*/^×÷-]|\b(?:times|multiplied by|divided by|plus|minus|to the power of)\b)`;
const OPERAND = String.raw`[-(]*\s*\d+(?:\.\d+)?\s*\)*`;
const EXPRESSION = String.raw`(?<![\w.])${OPERAND}(?:\s*${OPERATOR}\s*${OPERAND})+(?![\w/-])`;

const CUE = String.raw`(?:\b(?:what(?:['’]?s| is| are| does| do)?|how (?:much|many)|calculat\w+|compute|evaluate|solve|work out|tell me|value of|result of)\b|计算|算)`;
/** "What is the weather like on 10/11" does not ask for a quotient. */
const SAME_CLAUSE = String.raw`(?:(?!\b(?:on|at|in|weather|time|date)\b)[^,;?!\d])*?`;
const BEGINNING = String.raw`(?:^|[,;.?!:\n]|\b(?:and|also|plus|or)\b)\s*`;
const ENDING = String.raw`(?=\s*(?:[,;.?!=\n]|$|等于|是多少|\b(?:and|also|plus|or|then|please)\b))`;
const SUM = `(?:${CUE}${SAME_CLAUSE}(?<asked>${EXPRESSION})|${BEGINNING}(?<alone>${EXPRESSION})${ENDING})`;

const DATE = /^\d{1,4}([-/])\d{1,2}\1\d{1,4}$/u;

function findSums(text: string): Wish[] {
  return matchAll(text, SUM).flatMap((match) => {
    const expression = match.groups?.["asked"] ?? match.groups?.["alone"] ?? "";
    return DATE.test(expression.trim()) ? [] : toWishes(match, { input: toAscii(expression) });
  });
}

function toAscii(expression: string): string {
  return OPERATORS.reduce((text, [pattern, operator]) => text.replace(pattern, operator), expression.trim());
}

/*
 * The requests that the offline model understands without the name of a tool: one row for each tool.
 */

interface Intent {
  readonly tool: string;
  /** Free text contains words of the user, which are not searched for other wishes. */
  readonly kind: "free-text" | "topic";
  /** Returns the wishes in any order. If wishes overlap, the first one in the text counts. */
  readonly findWishes: (text: string) => readonly Wish[];
}

const INTENTS: readonly Intent[] = [
  /** `save a note: buy milk`, `note that …`, `remember …`, `add eggs to my notes` */
  { tool: "save_note", kind: "free-text", findWishes: findNotes },
  /** `search my notes for milk`, `what did I note about milk`, `list my notes` */
  { tool: "search_notes", kind: "free-text", findWishes: findQueries },
  /** `weather in Paris and in Tokyo`, `how warm is it in Rome` */
  { tool: "weather", kind: "topic", findWishes: findWeather },
  /** `what time is it`, `time in Tokyo` */
  { tool: "current_time", kind: "topic", findWishes: findTimes },
  /** `what is 3*4`, `calculate 6 times 7` */
  { tool: "calculator", kind: "topic", findWishes: findSums },
];

/*
 * Finds place names in a request, and their time zones.
 */

const STOP_WORDS = [
  "and|or|then|also|plus|please|thanks|now|right|today|tonight|tomorrow|currently|there|here",
  "what|how|is|was|are|will|for|at|on|of|as|by|with|but|if|this|that|the|a|an|to|in|it|i|me|my|you|us",
  "calculate|compute|search|save|remember|note|tell|give|show|list|weather|forecast|temperature|time|call|use",
].join("|");
const WORD = String.raw`(?!(?:${STOP_WORDS})\b)\p{L}[\p{L}'’-]*`;
const IANA_NAME = /[a-z_]+(?:\/[a-z_+-]+\d*)+/iuy;
const NAME = new RegExp(String.raw`(?:St\. )?${WORD}(?: ${WORD}){0,2}`, "iuy");
/**
 * The text between two places of a list. Group 1 is a comma without a word after it, which can also introduce
 * a country.
 */
const JOINT = /\s*(?:,?\s*(?:and also|and|also|plus|as well as|or|&)\s+|(,)\s*)(?:(?:in|for|at)\s+)?/iuy;
const PARTICLES: ReadonlySet<string> = new Set([
  "de",
  "del",
  "di",
  "da",
  "do",
  "la",
  "le",
  "las",
  "upon",
  "am",
]);

/** Cities whose time zone has another name. */
const CITY_ZONES: ReadonlyMap<string, string> = new Map([
  ["beijing", "Asia/Shanghai"],
  ["shenzhen", "Asia/Shanghai"],
  ["san francisco", "America/Los_Angeles"],
  ["seattle", "America/Los_Angeles"],
  ["boston", "America/New_York"],
  ["washington", "America/New_York"],
  ["munich", "Europe/Berlin"],
  ["mumbai", "Asia/Kolkata"],
  ["北京", "Asia/Shanghai"],
  ["上海", "Asia/Shanghai"],
  ["东京", "Asia/Tokyo"],
  ["伦敦", "Europe/London"],
  ["巴黎", "Europe/Paris"],
  ["纽约", "America/New_York"],
]);

/** Maps `tokyo` to `Asia/Tokyo`: a zone is named after its best known city. */
const ZONES: ReadonlyMap<string, string> = new Map([
  ...Intl.supportedValuesOf("timeZone").map((zone) => [cityOfZone(zone), zone] as const),
  ...CITY_ZONES,
]);

/**
 * The places named from `position` on: `Paris`, or a list such as `Paris, Rome and in New York`. Only the
 * first can be an unknown name in small letters, because the word after an "and" need not be a place.
 */
function readPlacesAt(text: string, position: number): string[] {
  const first = readPlaceAt(text, position);
  if (first === undefined) return [];
  const places = [first];
  // `Rome, Oslo and Bonn` is a list; `Paris, France` is not. Only the "and" shows which one it is.
  const undecided: string[] = [];
  let end = position + first.length;
  for (;;) {
    const joint = matchAt(JOINT, text, end);
    const place = joint && readPlaceAt(text, end + joint[0].length);
    if (joint === undefined || place === undefined || !isSurelyPlace(place)) return unique(places);
    end += joint[0].length + place.length;
    if (joint[1] === undefined) places.push(...undecided.splice(0), place);
    else if (isKnownCity(place)) places.push(place);
    else undecided.push(place);
  }
}

/**
 * The IANA time zone of a place. An unknown place is returned unchanged, so that the tool refuses it by its
 * name.
 */
function timeZoneOf(place: string): string {
  return ZONES.get(place.toLowerCase()) ?? place;
}

function isKnownCity(name: string): boolean {
  return ZONES.has(name.toLowerCase());
}

function readPlaceAt(text: string, position: number): string | undefined {
  const zone = matchAt(IANA_NAME, text, position);
  if (zone !== undefined) return zone[0];
  const words = matchAt(NAME, text, position)?.[0].split(" ");
  if (words === undefined) return undefined;
  const known = [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find(isKnownCity);
  if (known !== undefined) return known;
  // "Gotham City tonite": a name that begins with a capital ends at its last capitalised word.
  const [first = ""] = words;
  if (!isProper(first)) return words.join(" ");
  const after = words.findIndex((word) => !isProper(word) && !PARTICLES.has(word));
  const name = after === -1 ? words : words.slice(0, after);
  return name.slice(0, name.findLastIndex(isProper) + 1).join(" ");
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}

function isSurelyPlace(name: string): boolean {
  return isProper(name) || isKnownCity(name);
}

function isProper(word: string): boolean {
  return !/^\p{Ll}/u.test(word);
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function cityOfZone(zone: string): string {
  return zone
    .slice(zone.lastIndexOf("/") + 1)
    .replaceAll("_", " ")
    .toLowerCase();
}

/** A wish is a part of the text that asks for one call: from `start` to `end`, with the arguments of the call. */
interface Wish {
  readonly start: number;
  readonly end: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** All matches of a pattern's source, ignoring case. */
function matchAll(text: string, source: string): RegExpExecArray[] {
  return [...text.matchAll(new RegExp(source, "gisu"))];
}

/** The wishes of one match: one for each set of arguments. */
function toWishes(match: RegExpExecArray, ...allArgs: readonly Readonly<Record<string, unknown>>[]): Wish[] {
  const start = match.index;
  return allArgs.map((args) => ({ start, end: start + match[0].length, args }));
}

/**
 * A part of a long text, in which patterns search. The time of a pattern can grow with the square of its text, and a
 * client chooses the text.
 */
interface TextPart {
  /** Where the part begins in the text. */
  readonly start: number;
  readonly text: string;
}

/** In characters. A request to the offline model is rarely longer. */
const LONGEST_PART = 2_000;
const PART_END = /[,;.?!:\n，。；？！]/u;
/** A pattern tries every way to divide a run of white space between its parts. */
const LONG_GAP = /\s{30,}/gu;

/**
 * The text in parts that end with a clause, if they can. Long gaps become separators of the same length.
 *
 * Together the parts are as long as the text.
 */
export function partsOf(text: string): TextPart[] {
  const dense = text.replace(LONG_GAP, (gap) => ";".repeat(gap.length));
  const parts: TextPart[] = [];
  for (let start = 0; start < dense.length; ) {
    const end = endOfPart(dense, start);
    parts.push({ start, text: dense.slice(start, end) });
    start = end;
  }
  return parts;
}

function endOfPart(text: string, start: number): number {
  const most = start + LONGEST_PART;
  if (most >= text.length) return text.length;
  for (let end = most; end > start; end -= 1) {
    if (PART_END.test(text.charAt(end - 1))) return end;
  }
  return most;
}
