/**
 * LangChain, LangGraph and this library a second time in one process. A program that mixes `import` and `require` has both
 * copies of a package, and an object of one copy is not an instance of a class of the other.
 *
 * With `SECOND_CORE`, the name of an installed package, LangChain core is another version too.
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const load = createRequire(import.meta.url);
const core = process.env["SECOND_CORE"] ?? "@langchain/core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let built: string | undefined;

/** The library as CommonJS. It lies where it finds the installed packages. */
function buildTether(): string {
  const outfile = join(ROOT, "node_modules/.cache/langgraph-tether/second-copy.cjs");
  const files = ["index", "langchain", "providers/table/dialect-of"];
  const contents = files.map((name) => `export * from "./src/${name}.js";`).join("\n");
  const stdin = { contents, resolveDir: ROOT };
  // As in the package, what is an ES module only becomes a part of it.
  const external = ["@langchain/*", "langchain", "zod"];
  buildSync({ stdin, outfile, external, bundle: true, platform: "node", format: "cjs" });
  return outfile;
}

/** Each package is loaded when it is first used. */
export const second = {
  get messages(): typeof import("@langchain/core/messages") {
    return load(`${core}/messages`);
  },
  get outputs(): typeof import("@langchain/core/outputs") {
    return load(`${core}/outputs`);
  },
  get tools(): typeof import("@langchain/core/tools") {
    return load(`${core}/tools`);
  },
  get chatModels(): typeof import("@langchain/core/language_models/chat_models") {
    return load(`${core}/language_models/chat_models`);
  },
  get langGraph(): typeof import("@langchain/langgraph") {
    return load("@langchain/langgraph");
  },
  get openAI(): typeof import("@langchain/openai") {
    return load("@langchain/openai");
  },
  get tether(): typeof import("../../src/index.js") &
    typeof import("../../src/langchain.js") &
    typeof import("../../src/providers/table/dialect-of.js") {
    built ??= buildTether();
    return load(built);
  },
};
