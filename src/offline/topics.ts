/** Finds requests for the weather and for the time, in one place or in several. */

import { readPlacesAt, timeZoneOf } from "./places.js";
import { matchAll, toWishes, type Wish } from "./wish.js";

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
const SAME_CLAUSE = /(?:(?!\band\b)[^,.?!;\n])*?/.source;
const TO_PLACE = String.raw`(?:${OTHER_TOPIC}${SAME_CLAUSE}\b(?:in|for|at)\s+(?=\S))`;
const THERE = String.raw`(?:${SAME_CLAUSE}\bthere\b)`;

export function findWeather(text: string): Wish[] {
  return [
    ...matchAll(text, `(?:${WEATHER})${TO_PLACE}?`).flatMap((match) =>
      // A call without a city would fail, so the city named earlier in the text is used.
      toWishes(match, ...placesFor(text, match, findPlacesBefore).map((city) => ({ city }))),
    ),
    ...matchAll(text, CHINESE_WEATHER).flatMap((match) => toWishes(match, { city: match[1] })),
  ];
}

export function findTimes(text: string): Wish[] {
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
