/** Tools that read a package as module resolvers do. */

import { REPOSITORY, runCommand } from "./run-command.js";

export async function checkWithPublint(tarball: string): Promise<string> {
  await runCommand(REPOSITORY, "publint", ["--strict", tarball]);
  return "no findings";
}

/**
 * "Are the types wrong", with the profile `node16`, because the resolution of Node 10 does not know `exports`. Two of
 * its rules are off. They report that CommonJS files get an ES module and separate declarations. This is intended:
 * every Node of `engines` can require it, and a second build would duplicate every class.
 */
export async function checkWithAttw(tarball: string): Promise<string> {
  const rules = ["--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm", "false-cjs"];
  await runCommand(REPOSITORY, "attw", [tarball, ...rules, "--no-color"]);
  return "types are found by node16 and bundler resolution";
}
