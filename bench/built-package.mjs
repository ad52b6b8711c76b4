/**
 * Loads the library as its users have it: what a program imports from `src` comes from `dist`. Without this, the tool that
 * runs TypeScript would give each function a name whenever it is made, which takes time that no user loses.
 *
 *     node --import tsx --import ./bench/built-package.mjs FILE
 */

import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

const SOURCE = new URL("../src/", import.meta.url).href;
const BUILT = new URL("../dist/", import.meta.url).href;

// Node loads this file a second time, in the thread of the hooks.
if (isMainThread) register(import.meta.url);

/** @type {import("node:module").ResolveHook} */
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  if (!resolved.url.startsWith(SOURCE)) return resolved;
  const url = resolved.url.replace(SOURCE, BUILT).replace(/\.ts(\?.*)?$/, ".js");
  return { url, format: "module", shortCircuit: true };
}
