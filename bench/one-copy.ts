/**
 * This folder has its own packages, and the library takes those of the repository. Of the packages that both use there
 * must be one copy in the process: two would be compiled apart, and messages of one are foreign to the other, so the
 * numbers would say something else. After the installation the copies of this folder are removed, and Node finds those of
 * the repository.
 */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const PACKAGES = fileURLToPath(new URL("node_modules", import.meta.url));
const PACKAGES_OF_REPOSITORY = fileURLToPath(new URL("../node_modules", import.meta.url));

/** The packages that the library imports. */
export const SHARED = [
  "@langchain/core",
  "@langchain/langgraph",
  "@langchain/langgraph-checkpoint",
  "@langchain/langgraph-sdk",
  "zod",
] as const;

const versionIn = (folder: string, name: string): string =>
  JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")).version;

/** @throws if the versions differ, because a peer would then run with one that it was not installed for. */
export function removeSecondCopies(): void {
  for (const name of SHARED) {
    if (!existsSync(join(PACKAGES, name))) continue;
    const [own, other] = [versionIn(PACKAGES, name), versionIn(PACKAGES_OF_REPOSITORY, name)];
    if (own !== other)
      throw new Error(`Expected ${name} ${other} in bench/package.json, as in the repository, got ${own}.`);
    rmSync(join(PACKAGES, name), { recursive: true });
  }
}

/** @throws if a peer and the library would load different copies of a package. */
export function assertOneCopy(): void {
  const entries = ["@langchain/core/messages", "@langchain/langgraph", "zod"];
  const library = createRequire(new URL("../src/index.ts", import.meta.url));
  for (const peer of ["langchain", "deepagents"]) {
    const folder = [PACKAGES, PACKAGES_OF_REPOSITORY].find((each) => existsSync(join(each, peer)));
    const ofPeer = createRequire(pathToFileURL(join(folder ?? PACKAGES, peer, "package.json")));
    for (const entry of entries)
      if (ofPeer.resolve(entry) !== library.resolve(entry))
        throw new Error(
          `Expected ${peer} and the library to load one copy of ${entry}. Delete bench/node_modules and run it again.`,
        );
  }
}
