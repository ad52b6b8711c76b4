/** Tools that read a package as resolvers do. */

import { REPOSITORY, runCommand } from "./run-command.js";

export async function checkWithPublint(tarball: string): Promise<string> {
  await runCommand(REPOSITORY, "publint", ["--strict", tarball]);
  return "nothing to say";
}

/**
 * "Are the types wrong", with profile `node16`, as the resolution of Node 10 knows no `exports`. Two of its rules are off.
 * They say that CommonJS files get an ES module, with declarations of their own. That is meant: every Node of `engines`
 * can require it, and a second build would mean two copies of every class.
 */
export async function checkWithAttw(tarball: string): Promise<string> {
  const rules = ["--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm", "false-cjs"];
  await runCommand(REPOSITORY, "attw", [tarball, ...rules, "--no-color"]);
  return "types are found by node16 and bundler resolution";
}
