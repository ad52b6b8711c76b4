/**
 * Builds the package into `dist`: `npm run build`. TypeScript compiles the sources, and rollup joins its output to one
 * file for each entry, and one for what several entries share: as ES modules and as CommonJS, with declarations of both.
 *
 * LangChain's packages have two copies of each class. A program that requires them gets the copies for CommonJS, so it
 * needs code and declarations here that name the same ones.
 */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { type OutputOptions, type Plugin, type PreRenderedChunk, rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { REPOSITORY, runCommand } from "./check-package/run-command.js";

const ENTRIES = ["index", "history", "langchain", "doctor", "inspector"];
const DIST = join(REPOSITORY, "dist");

const { dependencies, peerDependencies } = JSON.parse(
  await readFile(join(REPOSITORY, "package.json"), "utf8"),
);
const INSTALLED = Object.keys({ ...dependencies, ...peerDependencies });

const isPackage = (id: string): boolean => !/^[./]/.test(id);
const isInstalled = (id: string): boolean =>
  INSTALLED.some((name) => id === name || id.startsWith(`${name}/`)) || id.startsWith("node:");

/**
 * What is not installed with the package becomes a part of it: small ES modules, which Jest could not load without a flag.
 * `LICENSE` names them.
 */
const bundled: Plugin = {
  name: "bundled",
  resolveId: (id) => (isPackage(id) ? fileURLToPath(import.meta.resolve(id)) : null),
};

/** Readers have them in the ES modules, and editors in the declarations. */
const withoutComments: Plugin = {
  name: "without-comments",
  renderChunk: async (code) => (await transform(code)).code,
};

/** What is loaded by itself has its own name. What several entries share is named after the parts of `src` that are in it. */
function partsIn(folder: string, { name, isDynamicEntry, moduleIds }: PreRenderedChunk): string {
  if (isDynamicEntry) return name;
  const own = moduleIds.filter((id) => id.startsWith(folder)).map((id) => relative(folder, id).split(sep));
  const parts = new Set(own.flatMap(([part = "", ...rest]) => (rest.length > 0 ? [part] : [])));
  if (parts.size > 1) parts.delete("shared");
  return [...parts].sort().join("-") || "errors";
}

async function write(
  folder: string,
  entries: readonly string[],
  plugins: readonly Plugin[],
  [from, to]: readonly [from: string, to: string],
  output: OutputOptions,
): Promise<void> {
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((name) => [name, join(folder, `${name}.${from}`)])),
    external: (id) => isPackage(id) && (from === "d.ts" || isInstalled(id)),
    plugins: [...plugins],
    treeshake: { moduleSideEffects: false },
    onLog: (_level, log) => {
      // It asks for an export of each type that another one names.
      if (log.plugin !== "dts") throw new Error(log.message);
    },
  });
  await bundle.write({
    dir: DIST,
    entryFileNames: `[name].${to}`,
    // Declarations do not have the same parts as the code.
    chunkFileNames: (chunk) => `${from === "d.ts" ? "types" : "chunks"}/${partsIn(folder, chunk)}.${to}`,
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    ...output,
  });
  await bundle.close();
}

const compiled = await mkdtemp(join(tmpdir(), "tether-build-"));
try {
  await rm(DIST, { recursive: true, force: true });
  for (const project of ["tsconfig.langchain.json", "tsconfig.build.json"])
    await runCommand(REPOSITORY, "tsc", ["-p", project, "--outDir", compiled]);
  await write(compiled, [...ENTRIES, "cli"], [bundled], ["js", "js"], { format: "es" });
  await write(compiled, ENTRIES, [bundled, withoutComments], ["js", "cjs"], {
    format: "cjs",
    // In CommonJS, a package that is loaded when it is needed is required too, so that it has the same copy of LangChain.
    dynamicImportInCjs: false,
    interop: "esModule",
    esModule: true,
    generatedCode: "es2015",
  });
  for (const to of ["d.ts", "d.cts"]) await write(compiled, ENTRIES, [dts()], ["d.ts", to], { format: "es" });
} finally {
  await rm(compiled, { recursive: true });
}
