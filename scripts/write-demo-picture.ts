/**
 * Runs the demo, and draws its first two parts as `scripts/demo-picture/demo.svg`, which the README shows:
 * `npx tsx scripts/write-demo-picture.ts`.
 */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { partOf, pictureOfDemo } from "./demo-picture/picture-of-demo.js";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const tsx = join(REPOSITORY, "node_modules", "tsx", "dist", "cli.mjs");
const { stdout } = await promisify(execFile)(process.execPath, [tsx, "scripts/demo.ts"], { cwd: REPOSITORY });

/** What was printed up to the summary of the part. */
const until = (lines: readonly string[], end: string) => {
  const place = lines.findIndex((line) => line.startsWith(end));
  if (place < 0) throw new Error(`Expected the demo to print "${end}".`);
  return lines.slice(0, place);
};
const file = join(REPOSITORY, "scripts", "demo-picture", "demo.svg");
writeFileSync(
  file,
  pictureOfDemo([
    { title: "A plain LangGraph agent", kind: "bad", lines: until(partOf(stdout, 1), "The thread has") },
    { title: "With langgraph-tether", kind: "good", lines: until(partOf(stdout, 2), "Changes of") },
  ]),
);
console.log(`Wrote ${file}.`);
