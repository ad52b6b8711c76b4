/** The commands and the example that the README gives to a user. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BrokenDoorError } from "./broken-door-error.js";
import { REPOSITORY } from "./run-command.js";

export interface Readme {
  /** The packages of the install command, this package first. */
  readonly packages: readonly string[];
  /** The first library example. */
  readonly example: string;
  /** The output of the example, as its comments say. */
  readonly printed: readonly string[];
}

export async function readReadme(): Promise<Readme> {
  const text = await readFile(join(REPOSITORY, "README.md"), "utf8");
  const packages = /^npm install (langgraph-tether .*)$/m.exec(text)?.[1]?.trim().split(/\s+/);
  const example = /```ts run\n([\s\S]*?)```/.exec(text)?.[1];
  if (packages === undefined)
    throw new BrokenDoorError("The README has no `npm install langgraph-tether …`.");
  if (example === undefined) throw new BrokenDoorError("The README has no example (```ts run).");
  const printed = [...example.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1] ?? "");
  return { packages, example, printed };
}
