/** Writes what is made of the results: the table of the README, and the picture. */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { withBlock } from "../../scripts/generated/with-block.js";
import { pictureOf } from "./picture.js";
import { readResults } from "./stored-results.js";
import { MARKS, tableOf } from "./table.js";

const PICTURE = fileURLToPath(new URL("../results.svg", import.meta.url));
const README = fileURLToPath(new URL("../../README.md", import.meta.url));

export function writeReports(): void {
  const results = readResults();
  writeFileSync(PICTURE, pictureOf(results));
  writeFileSync(README, withBlock(readFileSync(README, "utf8"), MARKS, tableOf(results)));
}
