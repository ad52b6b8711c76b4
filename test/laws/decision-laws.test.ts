/**
 * Each payment was approved exactly once, by a decision that meant it, whatever is decided where and when: see
 * `test/support/decisions.ts`.
 */

import { describe, expect } from "vitest";
import { DECIDING_NAMES, decisionPrograms, playDecisions } from "../support/decisions.js";
import { law } from "../support/test-tools.js";

describe.each(DECIDING_NAMES)("%s pays", (name) => {
  law(
    "only what was approved, once, and nothing that was refused",
    60,
    [decisionPrograms],
    async (program) => {
      const { broken, log } = await playDecisions(name, program);
      expect(broken, log.join("\n")).toEqual([]);
    },
  );
});
