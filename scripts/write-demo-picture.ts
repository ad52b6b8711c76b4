/**
 * Runs the demo, and draws its first two parts as `docs/pictures/demo.svg` and `demo-narrow.svg`, which the README
 * shows: `npx tsx scripts/write-demo-picture.ts`.
 */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pictureOfDemo } from "./demo-picture/picture-of-demo.js";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const tsx = join(REPOSITORY, "node_modules", "tsx", "dist", "cli.mjs");
const { stdout } = await promisify(execFile)(process.execPath, [tsx, "scripts/demo.ts"], { cwd: REPOSITORY });

for (const [name, form] of [
  ["demo", "wide"],
  ["demo-narrow", "narrow"],
] as const) {
  const file = join(REPOSITORY, `docs/pictures/${name}.svg`);
  writeFileSync(file, pictureOfDemo(stdout, form));
  console.log(`Wrote ${file}.`);
}
