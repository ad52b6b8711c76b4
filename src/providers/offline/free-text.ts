/** Wishes that carry words of the user: the text of a note, or what the notes are searched for. */

import { findSums } from "./sums.js";
import { findTimes, findWeather } from "./topics.js";
import { matchAll, type Wish } from "./wish.js";

const IMPERATIVE = String.raw`(?<=^\s*|[,;.!?:]\s*|\b(?:and|also|plus|then|please|you|to)\s+)`;
const A_NOTE = String.raw`(?:(?:a|an|this|another|the)\s+)?(?:new\s+)?note\b(?:\s+to (?:self|myself)\b)?`;
const MY_NOTES = String.raw`(?:all\s+)?(?:of\s+)?(?:(?:my|the)\s+)?(?:saved\s+)?notes?\b`;
const ABOUT = String.raw`(?:about|for|on|with|mentioning|containing)\b`;

/** The words before a note. */
const SAVE = [
  String.raw`\b(?:save|take|make|write|add|create|leave|keep)\s+(?:down\s+)?${A_NOTE}(?:\s+(?:that|saying|to)\b)?`,
  String.raw`${IMPERATIVE}note\b(?:\s+down\b|\s+that\b|\s+to (?:self|myself)\b|(?=\s*:))+`,
  String.raw`\b(?:write|jot)\s+down\b(?:\s+that\b)?`,
  String.raw`(?<!\b(?:you|i|we|not|cannot|never)\s|n['’]t\s)\bremember\b(?:\s+(?:that|to)\b)?`,
  String.raw`\bdon['’]?t forget\b(?:\s+(?:that|to)\b)?`,
  "记住|记下|记一下",
].join("|");

/** The words before a query. */
const SEARCH = [
  String.raw`\b(?:search|check|browse|look (?:up|in|into|through)|go through)\s+(?:in\s+|through\s+)?${MY_NOTES}(?:\s+${ABOUT})?`,
  String.raw`\b(?:find|get|list|show|read)\s+(?:me\s+)?(?:any\s+|a\s+)?${MY_NOTES}(?:\s+${ABOUT})`,
  String.raw`\bwhat (?:do|did|have) (?:i|we|you|${MY_NOTES})\s+(?:noted?|write|written|saved?|say|have)(?:\s+down)?\s+${ABOUT}`,
  String.raw`\b(?:did|have) (?:i|we|you) (?:saved?|made?|make|noted?|write|written)(?:\s+down)?\s+(?:(?:anything|something|a note|any notes?)\s+)?${ABOUT}`,
  String.raw`\b(?:do|did) (?:you|i) (?:remember|have)\b\s+(?:(?:anything|something|a note|any notes?)\s+)?(?:about\b)?`,
  String.raw`\b(?:what(?:['’]?s| is)|(?:is|are) there(?: anything)?)\s+(?:in\s+|any\s+|a\s+)?${MY_NOTES}\s+${ABOUT}`,
  String.raw`${IMPERATIVE}(?:my\s+|any\s+)?notes\s+${ABOUT}`,
  "(?:搜索|查找|查)笔记",
].join("|");

const LIST_ALL = [
  String.raw`\b(?:list|show|read)\s+(?:me\s+)?${MY_NOTES}`,
  String.raw`\bwhat (?:did|have) i (?:noted?|written down|write down)\b`,
  String.raw`\bwhat(?:['’]?s| is| are) (?:in )?my notes\b`,
].join("|");

const QUOTED = /["“](?<quoted>[^"”]+)["”]/.source;
const FILED = String.raw`\b(?:save|add|put|store)\s+(?:${QUOTED}|(?<filed>[^,;.?!\n]+?))\s+(?:as a note|(?:in|into|to) (?:my|the) notes)\b`;

/** What separates two wishes. An "and" may also join two parts of one note. */
const SEPARATOR = String.raw`(?<clear>\s*[,;.!?，；。！？\n]\s*(?:(?:and|also|plus|then)\b[\s,]*)*|\s+(?:and\s+)?(?:also|plus)\b[\s,]*)|\s+(?:and|&)\s+`;
const CLAUSE_END = String.raw`[,;.?!？。，\n]`;
const COURTESY = /(?:[\s,]*\b(?:please|thanks|thank you)\b[\s.!]*)?\s*。?\s*$/iu;

const POLITE = String.raw`(?:(?:and|please|can you|could you|would you|tell me|give me|show me|check)\s+)*`;
const LEAD_IN = new RegExp(
  String.raw`^${POLITE}(?:(?:what|how)(?:['’]?s| is| are)?\s+)?(?:(?:the|current)\s+)*`,
  "iu",
);
const COMMAND = new RegExp(`^${POLITE}(?:${SAVE}|${SEARCH}|${LIST_ALL})`, "isu");
const ASKING =
  /^(?:what|how|is it|will it|does it|tell|give|show|check|please|can|could|would|calculat|compute)/iu;
const STATING = /^[^,;.?!]*\b(?:is|was|were)\b(?! it\b)/iu;

/** A note ends where another wish is asked for, or where one is named behind a clear separator. */
export function findNotes(text: string): Wish[] {
  const notes = findFreeText(
    text,
    SAVE,
    (rest, isClear) => isAskedFor(rest) || (isClear && isNamed(rest) && !STATING.test(rest)),
  );
  const filed = matchAll(text, FILED).map((match) => ({
    ...spanOf(match),
    text: match.groups?.["filed"] ?? match.groups?.["quoted"] ?? "",
  }));
  return [...notes, ...filed].map(({ start, end, text }) => ({ start, end, args: { text } }));
}
