/**
 * Looks for regular expressions of `src` and `server` that some text slows down more than in proportion to its length:
 * `npm run check:patterns`. It analyses each pattern, where `test/laws/foreign-text-laws.test.ts` tries it. It ends with
 * 1 where it finds one.
 */

import { checkSync } from "recheck";
import { patternsOfSources } from "../test/support/patterns/source-patterns.js";

process.setSourceMapsEnabled(true);

const { patterns } = await patternsOfSources();
const slow = patterns.filter(({ place, pattern }) => {
  const found = checkSync(pattern.source, pattern.flags);
  if (found.status !== "vulnerable") return false;
  console.error(`${place}: ${pattern} is slow for ${found.attack.pattern}`);
  return true;
});
console.log(`${patterns.length} patterns, of which ${slow.length} are slow`);
process.exitCode = slow.length === 0 ? 0 : 1;
