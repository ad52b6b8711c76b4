/** From the words of a request to the calls that fulfil it. */

import { INTENTS } from "./intents.js";
import { findLiteralCalls } from "./literal-calls.js";

/** A call that the model wants to make, before it has an id. */
export interface PlannedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

interface PlacedCall extends PlannedCall {
  readonly start: number;
  readonly end: number;
}

/**
 * The calls that the text asks for, in the order of the text. A tool called by its name takes precedence over
 * what the rest of the text may mean.
 */
export function findCalls(text: string, toolNames: ReadonlySet<string>): PlannedCall[] {
  const wished = findWishedCalls(text, toolNames);
  const literal = findLiteralCalls(text, toolNames);
  if (literal.length === 0) return wished.map(({ name, args }) => ({ name, args }));
  // "use calculator for 6*7" names the tool, and says in words what it is for.
  return literal.map(({ name, args }) => ({
    name,
    args: args ?? wished.find((call) => call.name === name)?.args ?? {},
  }));
}

function findWishedCalls(text: string, toolNames: ReadonlySet<string>): PlacedCall[] {
  const calls: PlacedCall[] = [];
  for (const { tool, findWishes } of INTENTS) {
    if (!toolNames.has(tool)) continue;
    const earlier = [...calls];
    for (const wish of findWishes(text)) {
      const isTaken = earlier.some((call) => wish.start < call.end && call.start < wish.end);
      if (!isTaken) calls.push({ name: tool, ...wish });
    }
  }
  return calls.sort((left, right) => left.start - right.start);
}
