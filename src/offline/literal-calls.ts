/** Reads calls that are written out: `call NAME {json}`. */

import { parseJson } from "../shared/json.js";
import { isRecord } from "../shared/values.js";

/** A call that the model wants to make. It has no id yet. */
export interface PlannedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Contract: the calls that a text asks for, of tools with these names, in the order of the text. */
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

/** The literal calls of bound tools, in order of appearance. */
export function findLiteralCalls(text: string, toolNames: ReadonlySet<string>): LiteralCall[] {
  const calls: LiteralCall[] = [];
  for (const match of text.matchAll(LITERAL)) {
    const name = match[1];
    const isInsideArguments = match.index < (calls.at(-1)?.end ?? 0);
    if (name === undefined || !toolNames.has(name) || isInsideArguments) continue;
    const nameEnd = match.index + match[0].length;
    const json = readObjectAt(text, nameEnd);
    calls.push({ name, args: json?.args, start: match.index, end: json?.end ?? nameEnd });
  }
  return calls;
}

function readObjectAt(
  text: string,
  position: number,
): { args: Record<string, unknown>; end: number } | undefined {
  OBJECT_FOLLOWS.lastIndex = position;
  const gap = OBJECT_FOLLOWS.exec(text);
  if (gap === null) return undefined;
  const start = position + gap[0].length;
  const end = findObjectEnd(text, start);
  const args = parseJson(text.slice(start, end));
  return isRecord(args) ? { args, end } : undefined;
}

/** The position after the brace that closes the object. Braces within strings do not count. */
function findObjectEnd(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    if (isInString && character === "\\") index += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === "{") depth += 1;
    else if (!isInString && character === "}") depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

/*
 * Splits a request into steps: `call a then call b`.
 */

/** The calls of one step, made in parallel in one message. Never empty. */
export type Step = readonly PlannedCall[];

const THEN = /(?:[,;，；。]|(?<!\s))\s*(?:\b(?:and\s+)?then\b|然后)[,，:]?\s*/giu;

/** The steps that call tools. If no call follows a "then", its words belong to the step before it. */
export function findSteps(text: string, toolNames: ReadonlySet<string>, findCalls: FindCalls): Step[] {
  const callsIn = ({ start, end }: Span) => findCalls(text.slice(start, end), toolNames);
  const parts: Span[] = [];
  for (const part of splitAtThen(text, toolNames)) {
    const previous = parts.at(-1);
    if (previous === undefined || callsIn(part).length > 0) parts.push(part);
    else previous.end = part.end;
  }
  return parts.map(callsIn).filter((calls) => calls.length > 0);
}

interface Span {
  readonly start: number;
  end: number;
}

function splitAtThen(text: string, toolNames: ReadonlySet<string>): Span[] {
  const literal = findLiteralCalls(text, toolNames);
  const separators = [...text.matchAll(THEN)]
    .map((match) => ({ start: match.index, end: match.index + match[0].length }))
    .filter(({ start, end }) => !literal.some((call) => start < call.end && call.start < end - 1));
  return [...separators, { start: text.length, end: text.length }].map((separator, index) => ({
    start: separators[index - 1]?.end ?? 0,
    end: separator.start,
  }));
}
