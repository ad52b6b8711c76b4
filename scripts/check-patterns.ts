/**
 * Looks for regular expressions of `src` and `server` that some text slows down more than in proportion to its length:
 * `npm run check:patterns`. It analyses each pattern, where `test/laws/foreign-text-laws.test.ts` tries it. It ends with
 * 1 where it finds one.
 */

import { type AttackPattern, checkSync } from "recheck";
import { countMatching, MOST_STEPS } from "../test/support/patterns/count-matching.js";
import { patternsOfSources } from "../test/support/patterns/source-patterns.js";

process.setSourceMapsEnabled(true);

/** How often a text repeats what slows a pattern down. */
const TIMES = 1_000;
/** A pattern in proportion takes about twice as many steps for a text that is twice as long. */
const MORE_THAN_TWICE = 2.5;

/** The analysis also guesses, and calls a pattern slow that takes many cheap steps for a long text. */
function isSlowFor(pattern: RegExp, { pumps, suffix }: AttackPattern): boolean {
  const stepsFor = (times: number): number => {
    const repeated = pumps.map(({ prefix, pump, bias }) => prefix + pump.repeat(times + bias));
    return countMatching(pattern, `${repeated.join("")}${suffix}`);
  };
  const steps = stepsFor(TIMES * 2);
  return steps >= MOST_STEPS || steps > stepsFor(TIMES) * MORE_THAN_TWICE;
}

const { patterns } = await patternsOfSources();
const slow = patterns.filter(({ place, pattern }) => {
  const found = checkSync(pattern.source, pattern.flags);
  if (found.status !== "vulnerable" || !isSlowFor(pattern, found.attack)) return false;
  console.error(`${place}: ${pattern} is slow for ${found.attack.pattern}`);
  return true;
});
console.log(`${patterns.length} patterns, of which ${slow.length} are slow`);
process.exitCode = slow.length === 0 ? 0 : 1;
