/**
 * Loads the library as its users have it: compiled, and nothing more. Without this, the tool that runs TypeScript would
 * give each function a name whenever it is made, which takes time that no user loses.
 *
 *     node --import tsx --import ./bench/built-package.mjs FILE
 */

import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";
import { transform } from "esbuild";

const SOURCE = new URL("../src/", import.meta.url).href;

// Node loads this file a second time, in the thread of the hooks.
if (isMainThread) register(import.meta.url);

/** @type {import("node:module").LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith(SOURCE)) return next(url, context);
  const { code } = await transform(await readFile(new URL(url), "utf8"), { loader: "ts", target: "es2023" });
  return { format: "module", source: code, shortCircuit: true };
}
