/** Reads calls that are written out: `call NAME {json}`. */

import { parseJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";

/** A call that the model wants to make. It has no id yet. */
export interface PlannedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Contract: returns the calls that a text asks for, of tools with these names, in text order. */
export type FindCalls = (text: string, toolNames: ReadonlySet<string>) => readonly PlannedCall[];

interface LiteralCall {
  readonly name: string;
  /** Undefined if no JSON object follows the name. */
  readonly args: Readonly<Record<string, unknown>> | undefined;
  readonly start: number;
  readonly end: number;
}

const LITERAL = /(?:\b(?:call|use)\s+|(?:调用|使用)\s*)[`"']?([\w-]+)[`"']?/giu;
const OBJECT_FOLLOWS = /[\s:：]*(?=\{)/uy;

/** Each object that is not JSON is read to its end, which may be the text's. After this many, no call has arguments. */
const MOST_BROKEN = 20;

/** The literal calls of bound tools, in order of appearance. */
export function findLiteralCalls(text: string, toolNames: ReadonlySet<string>): LiteralCall[] {
  const calls: LiteralCall[] = [];
  let broken = 0;
  for (const { index: start, 0: words, 1: name = "" } of text.matchAll(LITERAL)) {
    const isInsideArguments = start < (calls.at(-1)?.end ?? 0);
    if (!toolNames.has(name) || isInsideArguments) continue;
    OBJECT_FOLLOWS.lastIndex = start + words.length;
    const isFollowed = broken < MOST_BROKEN && OBJECT_FOLLOWS.test(text);
    const json = isFollowed ? objectAt(text, OBJECT_FOLLOWS.lastIndex) : "";
    const args = parseJson(json);
    if (isFollowed && args === undefined) broken += 1;
    calls.push(
      isRecord(args)
        ? { name, args, start, end: OBJECT_FOLLOWS.lastIndex + json.length }
        : { name, args: undefined, start, end: start + words.length },
    );
  }
  return calls;
}

/** The text up to the brace that closes the object. Braces in strings do not count. */
function objectAt(text: string, start: number): string {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    if (isInString && character === "\\") index += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === "{") depth += 1;
    else if (!isInString && character === "}") depth -= 1;
    if (depth === 0) return text.slice(start, index + 1);
  }
  return text.slice(start);
}

/**
 * Whether places are inside one of these parts of a text.
 *
 * @param parts Contract: in text order, and apart.
 * @returns Contract: it is asked for places in text order.
 */
export function findInside(parts: readonly Pick<LiteralCall, "start" | "end">[]): (place: number) => boolean {
  let next = 0;
  return (place) => {
    for (let part = parts[next]; part !== undefined && part.end <= place; part = parts[next]) next += 1;
    return (parts[next]?.start ?? place + 1) <= place;
  };
}

/** One step's calls, made in parallel in one message. */
export type PlannedStep = readonly PlannedCall[];

const THEN = /(?:[,;，；。]|(?<!\s))\s*(?:\b(?:and\s+)?then\b|然后)[,，:]?\s*/giu;

/**
 * A request's steps that call tools: `call a then call b`. If no call follows a "then", its words belong to the step
 * before it.
 */
export function findSteps(text: string, toolNames: ReadonlySet<string>, findCalls: FindCalls): PlannedStep[] {
  const literal = findLiteralCalls(text, toolNames);
  const isInside = findInside(literal);
  const thens = [...text.matchAll(THEN)].filter(({ index }) => !isInside(index));
  const parts: { start: number; end: number }[] = [];
  const callsIn = (part: { start: number; end: number }) =>
    findCalls(text.slice(part.start, part.end), toolNames);
  let start = 0;
  for (const { index: end, 0: then } of [...thens, { index: text.length, 0: "" }]) {
    const last = parts.at(-1);
    if (last === undefined || callsIn({ start, end }).length > 0) parts.push({ start, end });
    else last.end = end;
    start = end + then.length;
  }
  return parts.map(callsIn).filter((calls) => calls.length > 0);
}
