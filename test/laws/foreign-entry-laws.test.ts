/** Whatever reads foreign text takes steps in proportion to its length. Steps are counted, not time. */

import fc from "fast-check";
import { describe, expect } from "vitest";
import { countStepsOf } from "../support/count-steps.js";
import { READERS } from "../support/foreign-readers.js";
import { HARD_PARTS } from "../support/foreign-texts.js";
import { expectWarnings, law } from "../support/test-tools.js";

// Some of the texts are warned about.
expectWarnings(/./);

const SIZE = 32;
/** Four times the text takes four times the steps. Quadratic work takes 16 times. */
const MOST_GROWTH = 6;

const part = fc.array(fc.constantFrom(...HARD_PARTS), { minLength: 1, maxLength: 2 });

describe("The work grows with the text", () => {
  for (const [name, read] of Object.entries(READERS))
    law(`of ${name}`, 16, [part], async (parts) => {
      const stepsOf = (size: number) =>
        countStepsOf([], async () => {
          try {
            await read(parts.join("").repeat(size));
          } catch {
            // What is refused was read.
          }
        });
      // What is made once is not counted.
      await stepsOf(1);
      const few = await stepsOf(SIZE);
      expect(await stepsOf(4 * SIZE)).toBeLessThan(MOST_GROWTH * few);
    });
});
