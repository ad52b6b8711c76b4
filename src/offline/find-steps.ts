/** Splits a request into steps: `calculate 6*7 then save a note: the answer is 42`. */

import { findCalls, type PlannedCall } from "./find-calls.js";
import { findLiteralCalls } from "./literal-calls.js";

/** The calls of one step, made in parallel in one message. Never empty. */
export type Step = readonly PlannedCall[];

const THEN = /(?:[,;，；。]|(?<!\s))\s*(?:\b(?:and\s+)?then\b|然后)[,，:]?\s*/giu;

/** The steps that call tools. If no call follows a "then", its words belong to the step before it. */
export function findSteps(text: string, toolNames: ReadonlySet<string>): Step[] {
  const parts: { text: string; end: number }[] = [];
  for (const { start, end } of splitAtThen(text, toolNames)) {
    const part = text.slice(start, end);
    const previous = parts.at(-1);
    if (previous === undefined || findCalls(part, toolNames).length > 0) parts.push({ text: part, end });
    else parts.splice(-1, 1, { text: text.slice(previous.end - previous.text.length, end), end });
  }
  return parts.map((part) => findCalls(part.text, toolNames)).filter((calls) => calls.length > 0);
}

function splitAtThen(text: string, toolNames: ReadonlySet<string>): { start: number; end: number }[] {
  const literal = findLiteralCalls(text, toolNames);
  const separators = [...text.matchAll(THEN)]
    .map((match) => ({ start: match.index, end: match.index + match[0].length }))
    .filter(({ start, end }) => !literal.some((call) => start < call.end && call.start < end - 1));
  return [...separators, { start: text.length, end: text.length }].map((separator, index) => ({
    start: separators[index - 1]?.end ?? 0,
    end: separator.start,
  }));
}
