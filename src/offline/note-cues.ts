/** Patterns for the beginnings of wishes about notes. */

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
export const SAVE_CUE = [
  String.raw`\b(?:save|take|make|write|add|create|leave|keep)\s+(?:down\s+)?${A_NOTE}(?:\s+(?:that|saying|to)\b)?`,
  String.raw`${IMPERATIVE}note(?: down(?: that)?\b| that\b| to (?:self|myself)\b|(?=\s*:))`,
  String.raw`\b(?:write|jot) down\b(?: that\b)?`,
  String.raw`(?<!\b(?:you|i|we|not|cannot|never)\s|n['’]t\s)\bremember\b(?: (?:that|to)\b)?`,
  String.raw`\bdon['’]?t forget\b(?: (?:that|to)\b)?`,
  "记住|记下|记一下",
].join("|");

/** The other word order: `add eggs to my notes`. */
export const FILED_NOTE = String.raw`\b(?:save|add|put|store)\s+(?<text>[^,;.?!\n]{1,500}?)\s+(?:as a note|(?:in|into|to) (?:my|the) notes)\b`;

/** A search query follows. */
export const SEARCH_CUE = [
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
export const LIST_CUE = [
  String.raw`\b(?:list|show|read) (?:me )?${NOTES}`,
  String.raw`\bwhat (?:did|have) i (?:noted?|written down|write down)\b`,
  String.raw`\bwhat(?:['’]?s| is| are)(?: in)? my notes\b`,
].join("|");
