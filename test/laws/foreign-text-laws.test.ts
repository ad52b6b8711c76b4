/** Whatever somebody else can write takes time in proportion to its length. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { slowTexts } from "../support/patterns/attacks.js";
import { MOST_STEPS, searchFrom } from "../support/patterns/count-matching.js";
import { patternsOfSources } from "../support/patterns/source-patterns.js";
import { law } from "../support/test-tools.js";

describe("Every pattern of the sources is linear", async () => {
  const { patterns, late } = await patternsOfSources();
  const distinct = new Map(patterns.map((one) => [String(one.pattern), one]));

  it("is made when its module is loaded, so that it is tested here", () => {
    expect(late).toEqual([]);
    expect(distinct.size).toBeGreaterThan(150);
  });

  it.each([...distinct.values()].map(({ place, pattern }) => [place, pattern] as const))(
    "%s %s",
    (_, pattern) => {
      expect(slowTexts(pattern)).toEqual([]);
    },
  );

  it.each([
    /(a+)+$/,
    /^(?:a|aa)+$/,
    /^(?:\w+\s?)*$/,
    /\s+$/,
    /\s*End/,
    /[^:]*$/,
    /^\s*\n([\s\S]*?)\n\s*$/,
    /begin.*end/s,
    /<!--[\s\S]*?-->/,
    /^(?:<!--[\s\S]*?-->\s*)*<svg/,
    /(?<=Bearer\s+)\w+/,
    /(?<!x\s*)y/g,
    /\d+[\d.]*-/u,
    /,(?=.*;)/g,
  ])("and would not be with %s", (pattern) => {
    expect(slowTexts(pattern)).not.toEqual([]);
  });
});

/** Whether the place lies between the two halves of a surrogate pair. */
function insidePair(text: string, place: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(place - 1, place + 1));
}

describe("The counter of steps finds what the engine finds", () => {
  const atom = fc.constantFrom(
    ..."a b [ab] [^a] \\s . \\w ^ $ \\b \\B (?<=a) (?<!b\\s) (?=b) (?!a.) 😀 \\p{L}".split(" "),
  );
  const { source } = fc.letrec<{ source: string }>((tie) => ({
    source: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      atom,
      fc.tuple(tie("source"), tie("source")).map((parts) => parts.join("")),
      fc.tuple(tie("source"), tie("source")).map(([one, other]) => `(?:${one}|${other})`),
      fc
        .tuple(tie("source"), fc.constantFrom("*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{0,2}?"))
        .map(([part, times]) => `(${part})${times}`),
    ),
  }));
  const flags = fc.constantFrom("u", "iu", "gu", "mu", "su", "uy");
  const text = fc.string({ unit: fc.constantFrom(..."aAb \n😀é\ud83d"), maxLength: 12 });

  law("of random patterns", 400, [source, flags, text, fc.nat(3)], (written, flagsOf, given, place) => {
    const pattern = new RegExp(written, flagsOf);
    const from = /[gy]/.test(flagsOf) ? place : 0;
    const { match, steps } = searchFrom(pattern, given, from);
    // The engine takes a place inside a pair for the place before it.
    fc.pre(steps < MOST_STEPS && !/^[\udc00-\udfff]/.test(given.slice(from)));
    pattern.lastIndex = from;
    const found = pattern.exec(given);
    // Of an empty match V8 also says that it begins inside a pair (`/\B/u` in "a😀"), where the standard has no place.
    fc.pre(found === null || !insidePair(given, found.index));
    expect(match).toEqual(
      found === null ? undefined : { start: found.index, end: found.index + found[0].length },
    );
  });
});
