/** The table of the README and the picture are those of the last run of the conformance kit. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pictureOf } from "../../conformance/report/picture.js";
import type { Results } from "../../conformance/report/results.js";
import { MARKS, tableOf } from "../../conformance/report/table.js";
import { withBlock } from "../../scripts/generated/with-block.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

it("The README and the picture show the last run.", () => {
  const results: Results = JSON.parse(read("conformance/results.json"));
  const readme = read("README.md");
  expect(withBlock(readme, MARKS, tableOf(results))).toBe(readme);
  expect(pictureOf(results)).toBe(read("conformance/results.svg"));
});
