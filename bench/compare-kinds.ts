/**
 * Prints what a long thread costs with each agent that makes summaries, for results of different kinds of text:
 *
 *     npx tsx bench/compare-kinds.ts                  # English, JSON, code, Chinese
 *     npx tsx bench/compare-kinds.ts english json     # only these
 *
 * Tokens are counted, so the numbers are the same on every machine.
 */

import { compareKinds } from "./suites/tokens.js";

const KINDS = ["english", "json", "code", "chinese"] as const;
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !KINDS.some((kind) => kind === name));
if (unknown !== undefined) throw new Error(`Expected kinds of ${KINDS.join(", ")}, got \`${unknown}\`.`);
console.table(await compareKinds(KINDS.filter((kind) => wanted.length === 0 || wanted.includes(kind))));
