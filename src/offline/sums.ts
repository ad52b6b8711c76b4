/** Finds arithmetic in a request: `what is 12*(3+4)`, `calculate 3 times 4 and 5-2`, or an expression alone. */

import { matchAll, toWishes, type Wish } from "./wish.js";

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

export function findSums(text: string): Wish[] {
  return matchAll(text, SUM).flatMap((match) => {
    const expression = match.groups?.["asked"] ?? match.groups?.["alone"] ?? "";
    return DATE.test(expression.trim()) ? [] : toWishes(match, { input: toAscii(expression) });
  });
}

function toAscii(expression: string): string {
  return OPERATORS.reduce((text, [pattern, operator]) => text.replace(pattern, operator), expression.trim());
}
