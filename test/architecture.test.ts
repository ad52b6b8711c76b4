import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const SOURCE = join(ROOT, "src");

/** What each part imports besides itself. `shared` and `errors` are for all. */
const MAY_IMPORT = {
  shared: [],
  errors: [],
  history: [],
  providers: ["history"],
  threads: ["history", "providers"],
  agent: ["history", "providers", "threads"],
  langchain: ["history", "providers", "threads"],
  doctor: ["history", "providers", "threads"],
  inspector: ["history", "providers", "threads", "doctor"],
  index: ["history", "providers", "threads", "agent", "langchain", "doctor", "inspector"],
  server: ["history", "providers", "threads", "agent", "langchain", "doctor", "inspector"],
} as const;
const FOR_ALL: readonly string[] = ["shared", "errors"];

/** The rooms of a part, from the ground up. Each imports only what stands before it. `.` stands for the files beside them. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  history: [".", "reducer"],
  providers: [
    "contract",
    "makers",
    "table",
    "media",
    "host-fields",
    "rules",
    "failure",
    "offline",
    "models",
    "input",
    "response",
  ],
  threads: ["serializer", "langgraph", ".", "saver", "ended-runs", "asking", "summary"],
  agent: ["settings", "middleware", ".", "run", "calls", "model", "graph"],
  doctor: [".", "targets", "command"],
  inspector: ["view", "html", "."],
};
type Layer = keyof typeof MAY_IMPORT;

/** The doors of the package. They stand above what they export, and nobody inside imports them. */
const ENTRIES = ["index", "history", "langchain", "doctor", "inspector", "cli"].map((name) => `${name}.ts`);

/** Below these, only what is named may be imported from outside: pure code takes no I/O, clock or runtime. */
const PURE_IMPORTS = {
  shared: ["@noble/hashes/sha2.js", "@noble/hashes/utils.js", "leven", "zod/v4"],
  errors: [],
  history: ["@langchain/core/messages", "@langchain/langgraph", "node:diagnostics_channel", "zod/v4"],
} as const satisfies Partial<Record<Layer, readonly string[]>>;

/** What the entry `langgraph-tether/history` may import at any depth: it runs in browsers, and is small. */
const HISTORY_IMPORTS: readonly string[] = [
  "@langchain/core/messages",
  "leven",
  "@noble/hashes/sha2.js",
  "@noble/hashes/utils.js",
];

const NODE_GLOBALS = /\b(?:Buffer|process)\.\w|\b(?:require|setImmediate)\(/;

/** The packages whose private names only `threads/langgraph` may know. */
const LANGGRAPH = [
  "langgraph",
  "langgraph-checkpoint",
  "langgraph-checkpoint-postgres",
  "langgraph-checkpoint-sqlite",
];

/**
 * Keys of configs and metadata that LangGraph does not promise to keep. No declaration lists them. `langgraph_type` and `langgraph_auth_user_id` are documented, and
 * `langgraph_tether` is our own.
 */
const PRIVATE_TO_LANGGRAPH =
  /__pregel|__resume|_streamIterator|streamChannels|langgraph_(?!type|auth_user_id|tether)\w*|Symbol\.for\("langgraph\.|assistant_id|\brun_id\b/g;

/** Fields of the server's HTTP API, which is documented. The code that guards its routes, or shows its threads, reads them. */
const FIELDS_OF_THE_API: readonly string[] = ["assistant_id", "run_id"];
const READS_THE_API = /^(?:\.\.\/server\/(?:access|http)|inspector)\//;

/** These compare prototypes. LangChain's `isInstance` of a chunk does so too; that of a message reads a symbol. */
const ASKS_FOR_IDENTITY =
  /\binstanceof\b|\w+Chunk\.isInstance|[!=]== *[\w.]*\.prototype\b|\.prototype\b[\w.]* *[!=]==|\.constructor [!=]==/g;

/** These read a value by the names that follow. `saver.pool` does not compile if `pool` is private, but `saver["pool"]` does. */
const READERS =
  /^(?:Reflect\.(?:get|has|set)|Object\.hasOwn|hasMethods|prototypeWith|viewOf|liveView|boundView)$/;

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
  /** Those of the imports that are still there when the types are gone. */
  readonly runtimeImports: readonly string[];
}

const IMPORT = /(?:from|import\(|importOptional<[^>]*>\()\s*"([^"]+)"/g;
const EXPORT = /^export (?:abstract |async )?(?:class|const|function\*?|interface|type) (\w+)/gm;
const TYPE_IMPORT = /^(?:import|export) type [^;]*;/gm;
const COMMENT = /^ *\/\*\*[\s\S]*?\*\//gm;
const OPTIONAL_IMPORT = /importOptional<\s*typeof import\("([^"]+)"\)\s*,?\s*>\(\s*"([^"]+)"/g;

const namesOf = (text: string): string[] => [...text.matchAll(IMPORT)].map((match) => match[1] ?? "");

const pathsIn = (folder: string): string[] =>
  readdirSync(join(SOURCE, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path));

const files: readonly SourceFile[] = [...pathsIn(""), ...pathsIn("../server")]
  .filter((path) => path.endsWith(".ts"))
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), "utf8");
    // The examples in comments import the library itself.
    const code = text.replaceAll(COMMENT, "");
    return { path, text, imports: namesOf(code), runtimeImports: namesOf(code.replaceAll(TYPE_IMPORT, "")) };
  });

function layerOf(path: string): Layer {
  if (ENTRIES.includes(path)) return "index";
  const [first = ""] = path.replace("../", "").split("/");
  const name = first.replace(/\.ts$/, "");
  if (!Object.hasOwn(MAY_IMPORT, name)) throw new Error(`${path} belongs to no part of the picture.`);
  return name as Layer;
}

function isPure(layer: Layer): layer is keyof typeof PURE_IMPORTS {
  return Object.hasOwn(PURE_IMPORTS, layer);
}

function pathOf(importer: string, target: string): string {
  return relative(SOURCE, resolve(SOURCE, dirname(importer), target)).replace(/\.js$/, ".ts");
}

/** The files of this repository that a file imports. */
const filesBelow = ({ path, imports }: SourceFile): string[] =>
  imports.filter((name) => name.startsWith(".")).map((name) => pathOf(path, name));

/** A file and all that is loaded with it. */
function closureOf(entry: string): readonly SourceFile[] {
  const found = new Map<string, SourceFile>();
  const add = (path: string): void => {
    const file = files.find((candidate) => candidate.path === path);
    if (file === undefined) throw new Error(`There is no ${path}.`);
    if (found.has(path)) return;
    found.set(path, file);
    for (const name of file.runtimeImports) if (name.startsWith(".")) add(pathOf(path, name));
  };
  add(entry);
  return [...found.values()];
}

const parsed = (path: string, text: string) => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

const nodesIn = (node: ts.Node): ts.Node[] => {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return [node, ...children.flatMap(nodesIn)];
};

/**
 * The members that LangGraph's declarations call private, protected or internal, or begin with an underscore, and the
 * fields that one saver has and `BaseCheckpointSaver` has not. A name that is public somewhere else may be read.
 */
function privateNamesOfLangGraph(): ReadonlySet<string> {
  const [own, open] = [new Set<string>(), new Set<string>()];
  const [ofSavers, shared] = [new Set<string>(), new Set<string>()];
  const folders = LANGGRAPH.map((name) => join(ROOT, "node_modules/@langchain", name, "dist"));
  const paths = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  for (const path of paths.filter((name) => name.endsWith(".d.ts")))
    for (const member of nodesIn(parsed(path, readFileSync(path, "utf8")))) {
      if (!ts.isClassElement(member) && !ts.isTypeElement(member)) continue;
      const name = member.name?.getText() ?? "";
      const isPrivate =
        name.startsWith("_") ||
        (ts.getCombinedModifierFlags(member as ts.Declaration) &
          (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !==
          0 ||
        ts.getJSDocTags(member).some((tag) => tag.tagName.text === "internal");
      (isPrivate ? own : open).add(name);
      const owner = ts.isClassDeclaration(member.parent) ? (member.parent.name?.text ?? "") : "";
      if (owner === "BaseCheckpointSaver") shared.add(name);
      else if (owner.endsWith("Saver") && ts.isPropertyDeclaration(member)) ofSavers.add(name);
    }
  return new Set([
    ...[...own].filter((name) => !open.has(name)),
    ...[...ofSavers].filter((name) => !shared.has(name)),
  ]);
}

/** The names by which a file reads values without their types: quoted, or in the type of a cast. */
function namesReadIn({ path, text }: SourceFile): readonly string[] {
  const quoted = (nodes: readonly ts.Node[]) =>
    nodes.flatMap((node) => (ts.isStringLiteralLike(node) ? [node.text] : []));
  return nodesIn(parsed(path, text)).flatMap((node) => {
    if (ts.isElementAccessExpression(node)) return quoted([node.argumentExpression]);
    if (ts.isBinaryExpression(node))
      return node.operatorToken.kind === ts.SyntaxKind.InKeyword ? quoted([node.left]) : [];
    if (ts.isAsExpression(node))
      return nodesIn(node.type).flatMap((part) =>
        ts.isPropertySignature(part) ? [part.name.getText()] : [],
      );
    if (!ts.isCallExpression(node) || !READERS.test(node.expression.getText())) return [];
    const members = node.arguments.flatMap((given) =>
      ts.isObjectLiteralExpression(given) ? given.properties : [],
    );
    return [...quoted(node.arguments), ...members.map((member) => member.name?.getText() ?? "")];
  });
}

/** The picture of the folders in ARCHITECTURE.md, and the text around it. */
function readArchitecture(): { readonly tree: string; readonly text: string } {
  const page = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  const [before = "", tree = "", ...text] = page.split("```");
  return { tree, text: [before, ...text].join("") };
}

/** The paths that the picture names, from the root of the repository: an entry is below the last one that is less indented. */
function pathsOfTree(tree: string): string[] {
  const above: { readonly indent: number; readonly path: string }[] = [];
  return [...tree.matchAll(/^( *)([\w.-]+\/?)(?: {2,}\S.*)?$/gm)].map(
    ([, { length: indent } = "", name = ""]) => {
      while ((above.at(-1)?.indent ?? -1) >= indent) above.pop();
      const path = join(above.at(-1)?.path ?? "", name);
      above.push({ indent, path });
      return path;
    },
  );
}

/** Code of the text that names a file or a folder: it has a slash or the ending of a file. */
function pathsOfText(text: string): string[] {
  return [...text.matchAll(/`([\w./-]+)`/g)]
    .map((match) => match[1] ?? "")
    .filter((code) => /\/|\.(?:ts|md|json)$/.test(code) && !code.startsWith("langgraph-tether/"));
}

describe("ARCHITECTURE.md", () => {
  const { tree, text } = readArchitecture();

  it.each(pathsOfTree(tree))("draws %s, which exists", (path) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
  });

  it.each([...new Set(pathsOfText(text))])("names %s, which exists", (path) => {
    expect(existsSync(join(ROOT, path)) || existsSync(join(SOURCE, path))).toBe(true);
  });

  it("draws everything directly in `src`, and every folder of its parts", () => {
    const drawn = new Set(pathsOfTree(tree).map((path) => path.replace(/\/$/, "")));
    const direct = readdirSync(SOURCE).map((name) => join("src", name));
    const rooms = ["history", "providers", "threads", "agent", "doctor", "inspector"].flatMap((folder) =>
      readdirSync(join(SOURCE, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => join("src", folder, name)),
    );
    expect([...direct, ...rooms].filter((path) => !drawn.has(path))).toEqual([]);
  });
});

describe("the source", () => {
  it.each(files)("$path imports what the picture shows", (file) => {
    const own = layerOf(file.path);
    const allowed: readonly string[] = [own, ...FOR_ALL, ...MAY_IMPORT[own]];
    expect(filesBelow(file).filter((target) => !allowed.includes(layerOf(target)))).toEqual([]);
  });

  it("imports downwards: no file imports itself, however many files are between", () => {
    const below = new Map(files.map((file) => [file.path, filesBelow(file)]));
    const settled = new Set<string>();
    const open: string[] = [];
    const visit = (path: string): void => {
      if (settled.has(path)) return;
      expect(open, "a circle").not.toContain(path);
      open.push(path);
      for (const target of below.get(path) ?? []) visit(target);
      settled.add(open.pop() ?? "");
    };
    for (const path of below.keys()) visit(path);
  });

  it.each(Object.entries(ROOMS))("has no import back up between the rooms of %s", (part, rooms) => {
    const roomOf = (path: string): string | undefined =>
      path.startsWith(`${part}/`) ? (path.split("/").at(-2) === part ? "." : path.split("/")[1]) : undefined;
    const wrong = files.flatMap(({ path, ...file }) => {
      const room = roomOf(path);
      const isUp = (target: string): boolean => {
        const below = roomOf(target);
        return room !== undefined && below !== undefined && rooms.indexOf(below) > rooms.indexOf(room);
      };
      return filesBelow({ path, ...file })
        .filter(isUp)
        .map((target) => `${path} -> ${target}`);
    });
    const found = new Set(files.flatMap(({ path }) => roomOf(path) ?? []));
    expect({ wrong, rooms: [...found].sort() }).toEqual({ wrong: [], rooms: rooms.toSorted() });
  });

  it("has no import of a maker but in its own folder and in the table", () => {
    const makerOf = (path: string) => /^providers\/makers\/([^/]+)/.exec(path)?.[1];
    const mayKnow = (path: string, target: string): boolean =>
      makerOf(target) === undefined ||
      makerOf(target) === makerOf(path) ||
      path.startsWith("providers/table/");
    const wrong = files.flatMap((file) => filesBelow(file).filter((target) => !mayKnow(file.path, target)));
    expect(wrong).toEqual([]);
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

  const privateNames = privateNamesOfLangGraph();

  it.each(files.filter(({ path }) => !path.startsWith("threads/langgraph/")))(
    "$path uses no private name of LangGraph and its savers",
    (file) => {
      const allowed = READS_THE_API.test(file.path) ? FIELDS_OF_THE_API : [];
      const found: readonly string[] = file.text.match(PRIVATE_TO_LANGGRAPH) ?? [];
      expect(found.filter((name) => !allowed.includes(name))).toEqual([]);
      expect(namesReadIn(file).filter((name) => privateNames.has(name))).toEqual([]);
    },
  );

  it("reads private names where they belong, which shows that they are found", () => {
    const read = files.filter(({ path }) => path.startsWith("threads/langgraph/")).flatMap(namesReadIn);
    expect([...privateNames].filter((name) => read.includes(name))).toEqual(
      expect.arrayContaining(["pool", "db", "storage", "isSetup"]),
    );
  });

  it.each(files)("$path asks no class of a package for its instances", ({ text }) => {
    // A process can have several copies of a package, each with its own classes.
    expect(text.replaceAll(COMMENT, "").match(ASKS_FOR_IDENTITY) ?? []).toEqual([]);
  });

  it("is not imported through its public doors from inside", () => {
    const inside = files.filter((file) => filesBelow(file).some((target) => ENTRIES.includes(target)));
    expect(inside.map(({ path }) => path)).toEqual([]);
  });

  it.each(closureOf("history.ts"))(
    "$path is light and runs everywhere, as part of the history entry",
    (file) => {
      const foreign = file.runtimeImports.filter((name) => !name.startsWith("."));
      expect(foreign.filter((name) => !HISTORY_IMPORTS.includes(name))).toEqual([]);
      expect(NODE_GLOBALS.exec(file.text)).toBeNull();
    },
  );

  it("imports optional packages by name, with the type of the same package", () => {
    const optional = files.flatMap(({ text }) => [...text.matchAll(OPTIONAL_IMPORT)]);
    expect(optional.length).toBe(
      files.flatMap(({ text }) => text.match(/await importOptional</g) ?? []).length,
    );
    expect(optional.filter(([, type, specifier]) => type !== specifier)).toEqual([]);
  });

  it("exports no name from two files: one word says one thing", () => {
    const namesIn = (text: string) =>
      [...text.replaceAll(COMMENT, "").matchAll(EXPORT)].map(([, name]) => name);
    // A function has one declaration for each of its signatures.
    const names = files.flatMap(({ text }) => [...new Set(namesIn(text))]);
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  });

  it("can be required: no module awaits anything while it is loaded", () => {
    expect(
      files.filter(({ text }) => /^(?:await|for await|(?:export )?const .*= await)\b/m.test(text)),
    ).toEqual([]);
  });

  it("names its peers: what the library imports is declared, and provider packages are optional", () => {
    const manifest = JSON.parse(readFileSync(resolve(SOURCE, "../package.json"), "utf8"));
    const { dependencies, peerDependencies, peerDependenciesMeta } = manifest;
    const declared = Object.keys({ ...dependencies, ...peerDependencies });
    const packages = files
      .filter(({ path }) => layerOf(path) !== "server")
      .flatMap(({ imports }) => imports)
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
      .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? "");
    expect([...new Set(packages)].filter((name) => !declared.includes(name)).sort()).toEqual([
      // The peers of this package contradict one another: npm would not install a library that names it.
      "@langchain/community",
      // They are parts of the package. `LICENSE` names them.
      "@noble/hashes",
      "leven",
      "p-limit",
    ]);
    expect(Object.keys(peerDependenciesMeta).filter((name) => !(name in peerDependencies))).toEqual([]);
    expect(peerDependenciesMeta["@langchain/openai"]).toEqual({ optional: true });
  });
});
