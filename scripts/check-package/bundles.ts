/** Checks that bundlers accept the entries when only the required peers are installed. */

import { type BuildOptions, type BuildResult, build } from "esbuild";
import { BrokenDoorError } from "./broken-door-error.js";
import type { Consumer } from "./install-consumer.js";
import type { Readme } from "./read-readme.js";
import { runInBrowserRealm } from "./run-in-browser-realm.js";
import { formatBytes, type Sizes } from "./sizes.js";

/** The size that the history entry may add to a bundle that already has LangChain's messages. */
const HISTORY_BUDGET = 140_000;
const FORBIDDEN_IN_HISTORY = /node_modules\/(?:@langchain\/langgraph|zod)\//;

type Bundle = BuildResult<{ metafile: true; write: false }>;

/** Bundles the README's first example with all its dependencies into one file and runs it. */
export async function bundleRoot(consumer: Consumer, readme: Readme, sizes: Sizes): Promise<string> {
  const bundle = await bundleCode(consumer, readme.example, {
    platform: "node",
    // Some dependencies of LangGraph are CommonJS and require Node's modules.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  const [text, bytes] = contentOf(bundle);
  await consumer.write("bundle.mjs", text);
  const printed = await consumer.run("bundle.mjs");
  if (printed.join("\n") !== readme.printed.join("\n")) {
    throw new BrokenDoorError(
      `the bundle should print \`${readme.printed.join("; ")}\`, but it printed \`${printed.join("; ")}\``,
    );
  }
  sizes.add("the README's first example, bundled with LangGraph", bytes);
  return `${formatBytes(bytes.length)}, it runs`;
}

/** Bundles the history entry for each platform, alone and with LangChain's messages. */
export async function bundleHistory(consumer: Consumer, sizes: Sizes): Promise<string> {
  const all = 'export * from "langgraph-tether/history";';
  const external = ["@langchain/core/*"];
  for (const platform of ["browser", "neutral"] as const) {
    const own = await bundleCode(consumer, all, { platform, external });
    checkImports(own, platform);
    const [, bytes] = contentOf(own);
    if (platform === "browser") sizes.add("langgraph-tether/history, without @langchain/core", bytes);
    if (bytes.length >= HISTORY_BUDGET) {
      throw new BrokenDoorError(
        `for ${platform} it should be less than ${formatBytes(HISTORY_BUDGET)}, but it is ${formatBytes(bytes.length)}`,
      );
    }
  }
  const messages = 'export { AIMessage, HumanMessage } from "@langchain/core/messages";';
  const whole = await bundleCode(consumer, `${all}\n${messages}`, {
    platform: "browser",
    format: "iife",
    globalName: "bundle",
  });
  checkImports(whole, "browser");
  const [text, bytes] = contentOf(whole);
  sizes.add("langgraph-tether/history, with @langchain/core/messages", bytes);
  runInBrowserRealm(text);
  return `less than ${formatBytes(HISTORY_BUDGET)}, without LangGraph, zod and Node modules; it runs without Node's globals`;
}

async function bundleCode(consumer: Consumer, code: string, options: BuildOptions): Promise<Bundle> {
  const stdin = { contents: code, resolveDir: consumer.folder, loader: "ts" } as const;
  const settings = {
    stdin,
    bundle: true,
    minify: true,
    format: "esm",
    logLevel: "silent",
    ...options,
  } as const;
  try {
    return await build({ ...settings, metafile: true, write: false });
  } catch (error) {
    throw new BrokenDoorError(String(error));
  }
}

/** For a browser, Node's modules are errors. With a neutral platform, esbuild could leave them as imports. */
function checkImports({ metafile }: Bundle, platform: string): void {
  const outputs = Object.values(metafile.outputs);
  const left = outputs.flatMap(({ imports }) => imports.map(({ path }) => path));
  const packed = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const wrong = [
    ...left.filter((path) => path !== "@langchain/core/messages"),
    ...packed.filter((path) => FORBIDDEN_IN_HISTORY.test(path)),
  ];
  if (wrong.length === 0) return;
  throw new BrokenDoorError(`for ${platform} it has forbidden modules: ${[...new Set(wrong)].join(", ")}`);
}

function contentOf({ outputFiles: [file] }: Bundle): [text: string, bytes: Uint8Array] {
  if (file === undefined) throw new Error("esbuild wrote nothing.");
  return [file.text, file.contents];
}
