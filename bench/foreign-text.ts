/**
 * How long each reader of foreign text takes for the text that is hardest for it: `npx tsx bench/foreign-text.ts`. The
 * law `test/laws/foreign-entry-laws.test.ts` counts the same readers' steps, with shorter texts.
 */

import { performance } from "node:perf_hooks";
import { READERS } from "../test/support/foreign-readers.js";
import { HARD_PARTS } from "../test/support/foreign-texts.js";

console.warn = () => {};

for (const [name, read] of Object.entries(READERS)) {
  await timeOf(read, "a");
  const cells: string[] = [];
  for (const length of [100_000, 1_000_000]) {
    let [most, hardest] = [0, ""];
    for (const part of HARD_PARTS) {
      const time = await timeOf(read, part.repeat(Math.ceil(length / part.length)));
      if (time > most) [most, hardest] = [time, part];
    }
    cells.push(`${Math.round(most)} ms ${JSON.stringify(hardest)}`);
  }
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
process.exit();

async function timeOf(read: (text: string) => unknown, text: string): Promise<number> {
  const start = performance.now();
  try {
    await read(text);
  } catch {
    // What is refused was read.
  }
  return performance.now() - start;
}
