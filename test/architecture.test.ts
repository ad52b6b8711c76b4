import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SOURCE = resolve(dirname(fileURLToPath(import.meta.url)), "../src");

/** From the bottom up: a file imports from its own layer and from those before it. */
const LAYERS = [
  "to-json",
  "is-record",
  "did-you-mean",
  "errors",
  "history",
  "providers",
  "settings",
  "middleware",
  "nodes",
  "graph",
  "index",
  "deploy",
] as const;
type Layer = (typeof LAYERS)[number];

/** Below these, only what is named may be imported from outside: pure code takes no I/O, clock or runtime. */
const PURE_IMPORTS = {
  "did-you-mean": ["leven"],
  errors: [],
  history: [
    "@langchain/core/messages",
    "@langchain/langgraph",
    "node:crypto",
    "node:diagnostics_channel",
    "zod",
  ],
} as const satisfies Partial<Record<Layer, readonly string[]>>;

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), "utf8");
    const imports = [...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map((match) => match[1] ?? "");
    return { path, text, imports };
  });

function layerOf(path: string): Layer {
  const [first = ""] = path.split("/");
  const name = first.replace(/\.ts$/, "");
  const layer = LAYERS.find((candidate) => candidate === name);
  if (layer === undefined) throw new Error(`${path} belongs to no layer.`);
  return layer;
}

function isPure(layer: Layer): layer is keyof typeof PURE_IMPORTS {
  return Object.hasOwn(PURE_IMPORTS, layer);
}

describe("the house", () => {
  it.each(files)("$path imports downwards only", ({ path, imports }) => {
    const own = LAYERS.indexOf(layerOf(path));
    for (const target of imports.filter((name) => name.startsWith("."))) {
      const targetPath = relative(SOURCE, resolve(SOURCE, dirname(path), target)).replace(/\.js$/, ".ts");
      expect(LAYERS.indexOf(layerOf(targetPath)), `${path} imports ${targetPath}`).toBeLessThanOrEqual(own);
    }
  });

  it.each(files.filter(({ path }) => isPure(layerOf(path))))(
    "$path needs nothing from outside but what pure code may have",
    ({ path, imports }) => {
      const layer = layerOf(path);
      const allowed: readonly string[] = isPure(layer) ? PURE_IMPORTS[layer] : [];
      const foreign = imports.filter((name) => !name.startsWith(".") && !allowed.includes(name));
      expect(foreign).toEqual([]);
    },
  );

  it.each(files)("$path has one concept and fewer than 250 lines", ({ text }) => {
    expect(text.split("\n").length).toBeLessThanOrEqual(250);
  });

  it("is not imported through its public door from inside", () => {
    const inside = files.filter(({ imports }) => imports.some((name) => /(^|\/)index\.js$/.test(name)));
    expect(inside.map(({ path }) => path)).toEqual([]);
  });

  it("names its peers: what the library imports is declared, and provider packages are optional", () => {
    const manifest = JSON.parse(readFileSync(resolve(SOURCE, "../package.json"), "utf8"));
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const packages = files
      .filter(({ path }) => layerOf(path) !== "deploy")
      .flatMap(({ imports }) => imports)
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      );
    expect([...new Set(packages)].filter((name) => !declared.includes(name))).toEqual([]);
    expect(manifest.peerDependenciesMeta["@langchain/openai"]).toEqual({ optional: true });
  });
});
