/** Writes what is made of the results: the table of the README, and the picture. */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pictureOf } from "./picture.js";
import type { ImplementationResult, Results } from "./results.js";
import { tableOf, withTable } from "./table.js";

export const RESULTS = fileURLToPath(new URL("../results.json", import.meta.url));
export const PICTURE = fileURLToPath(new URL("../results.svg", import.meta.url));
export const README = fileURLToPath(new URL("../../README.md", import.meta.url));

/** @param order The names of the implementations, as they stand in the table. */
export function mergeResults(
  former: Results | undefined,
  scored: ImplementationResult,
  order: readonly string[],
): Results {
  const all = [...(former?.implementations ?? []).filter(({ name }) => name !== scored.name), scored];
  const known = all.filter(({ name }) => order.includes(name));
  return { implementations: known.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) };
}

export function writeReports(): void {
  const results: Results = JSON.parse(readFileSync(RESULTS, "utf8"));
  writeFileSync(PICTURE, pictureOf(results));
  writeFileSync(README, withTable(readFileSync(README, "utf8"), tableOf(results)));
}
