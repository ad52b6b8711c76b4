/** One line, or one function, keeps every promise, whatever is done to a thread: see `test/support/programs.ts`. */

import { MemorySaver } from "@langchain/langgraph";
import { describe, expect } from "vitest";
import { DURABILITIES } from "../support/crashing-thread.js";
import { PROMISING_NAMES, play, programs } from "../support/programs.js";
import { law } from "../support/test-tools.js";

describe.each(PROMISING_NAMES)("%s keeps every promise", (name) => {
  for (const durability of DURABILITIES)
    law(`over a slow memory, with the durability ${durability}`, 20, [programs], async (program) => {
      expect((await play(name, new MemorySaver(), durability, program)).broken).toEqual([]);
    });
});
