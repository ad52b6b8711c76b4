/** One line keeps every promise, over each database: see `test/support/programs.ts`. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { describe, expect } from "vitest";
import { DURABILITIES } from "../support/crashing-thread.js";
import { PROMISING_NAMES, play, programs } from "../support/programs.js";
import { SAVERS } from "../support/savers.js";
import { law } from "../support/test-tools.js";

const DATABASES = SAVERS.filter(({ isThere, title }) => isThere && /^(?:Sqlite|Postgres)/.test(title));

describe.each(DATABASES)("With $title", ({ open }) => {
  for (const name of PROMISING_NAMES)
    for (const durability of DURABILITIES) {
      let saver: BaseCheckpointSaver | undefined;
      law(
        `${name} keeps every promise, with the durability ${durability}`,
        20,
        [programs],
        async (program) => {
          saver ??= (await open()).connect();
          expect((await play(name, saver, durability, program)).broken).toEqual([]);
        },
      );
    }
});
