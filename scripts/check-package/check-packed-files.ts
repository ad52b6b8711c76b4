import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path/posix";
import { BrokenDoorError } from "./broken-door-error.js";
import { REPOSITORY } from "./run-command.js";

/** What only a clone of the repository needs: large pictures, and the settings of the graph that it serves. */
const ONLY_IN_A_CLONE = /^docs\/pictures\/inspector-|^\.env/;

/**
 * Checks that every target of a packed file is packed too: links in documents, and sources of source maps. Nothing is
 * packed that only a clone needs.
 */
export async function checkPackedFiles(files: readonly string[]): Promise<string> {
  const surplus = files.filter((file) => ONLY_IN_A_CLONE.test(file));
  if (surplus.length > 0) throw new BrokenDoorError(`files should not be packed: ${surplus.join(", ")}`);
  const packed = new Set(files);
  const isThere = (path: string): boolean =>
    packed.has(path) || files.some((file) => file.startsWith(`${path}/`));
  const wanted = await Promise.all(files.map(targetsOf));
  const missing = wanted.flat().filter(({ target }) => !isThere(target));
  if (missing.length > 0) {
    const lines = missing.map(({ from, target }) => `${from} refers to ${target}`);
    throw new BrokenDoorError(`files are not packed:\n${[...new Set(lines)].join("\n")}`);
  }
  return `${files.length} files, ${wanted.flat().length} links and sources refer to packed files`;
}

interface Target {
  readonly from: string;
  readonly target: string;
}

async function targetsOf(from: string): Promise<readonly Target[]> {
  const read = (): Promise<string> => readFile(join(REPOSITORY, from), "utf8");
  const at = (target: string): Target => ({ from, target: normalize(join(dirname(from), target)) });
  if (from.endsWith(".md")) return linksOf(await read()).map(at);
  if (!from.endsWith(".map")) return [];
  const { sources }: { sources: readonly string[] } = JSON.parse(await read());
  return sources.map(at);
}

function linksOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map((match) => match[1] ?? "")
    .filter((link) => !/^[a-z]+:/.test(link));
}
