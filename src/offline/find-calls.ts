/** Finds the tool calls that fulfil a request. */

import { INTENTS } from "./intents.js";
import { findLiteralCalls } from "./literal-calls.js";
import { partsOf } from "./wish.js";

/** A call that the model wants to make. It has no id yet. */
export interface PlannedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

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
