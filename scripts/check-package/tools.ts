/** Tools that read a package as module resolvers do. */

import { BrokenDoorError } from "./broken-door-error.js";
import { REPOSITORY, runCommand, tryCommand } from "./run-command.js";

export async function checkWithPublint(tarball: string): Promise<string> {
  await runCommand(REPOSITORY, "publint", ["--strict", tarball]);
  return "no findings";
}

/** "Are the types wrong", for each way in which TypeScript finds a package, also that of Node 10. */
export async function checkWithAttw(tarball: string): Promise<string> {
  await runCommand(REPOSITORY, "attw", [tarball, "--no-color"]);
  return "types are found by node10, node16 and bundler resolution";
}

/** What npm would say of a publication. It builds nothing again, and asks for no credentials. */
export async function checkPublish(tarball: string): Promise<string> {
  const args = ["publish", tarball, "--dry-run", "--provenance=false", "--loglevel=warn"];
  const { exitCode, output, errors } = await tryCommand(REPOSITORY, "npm", args);
  const said = errors.split("\n").filter((line) => /^npm (?:warn|error)/.test(line));
  const own = said.filter((line) => !/logged in|requires you to be/.test(line));
  if (exitCode !== 0 || own.length > 0) throw new BrokenDoorError(`npm says:\n${output}${errors}`);
  return "npm would publish it";
}
