/** The commands and the example that the README gives to a user. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BrokenDoorError } from "./broken-door-error.js";
import { REPOSITORY } from "./run-command.js";

export interface Readme {
  /** The commands that a user runs in the folder of a project, as one line each. They name the packed file. */
  readonly install: readonly string[];
  /** The first library example. */
  readonly example: string;
  /** The file that the example is saved as. */
  readonly file: string;
  /** The output of the example, as its comments say. */
  readonly printed: readonly string[];
}

export async function readReadme(): Promise<Readme> {
  const text = await readFile(join(REPOSITORY, "README.md"), "utf8");
  const [, commands] = /^# in your project.*\n([\s\S]*?)```/m.exec(text) ?? [];
  const [, file, example] = /Save this as `([^`]+)`[\s\S]*?```ts run\n([\s\S]*?)```/.exec(text) ?? [];
  if (commands === undefined)
    throw new BrokenDoorError("The README has no commands to install it (# in your project).");
  if (file === undefined || example === undefined)
    throw new BrokenDoorError("The README has no example (Save this as `…`, and ```ts run).");
  const printed = [...example.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1] ?? "");
  const install = commands
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
  return { install, example, file, printed };
}
