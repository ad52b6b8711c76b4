/** What an editor shows on hover: every export has it, and every option. */

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { readExports } from "../scripts/api-docs/read-exports.js";
import { API_PAGE, renderApiPage } from "../scripts/api-docs/render-api-page.js";
import { HELP } from "../scripts/write-settings-table/settings-documents.js";
import * as doctor from "../src/doctor.js";
import * as history from "../src/history.js";
import * as index from "../src/index.js";
import * as inspector from "../src/inspector.js";
import * as langchain from "../src/langchain.js";
import { SETTINGS, type Setting } from "./support/internals.js";

const SOURCE = resolve(dirname(fileURLToPath(import.meta.url)), "../src");
const DOOR = resolve(SOURCE, "index.ts");
const COMPILER_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  strict: true,
  noCheck: true,
  types: [],
};
const exported = readExports(DOOR);

function commentOf(node: ts.Node): string {
  return ts
    .getJSDocCommentsAndTags(node)
    .map((found) => ts.getTextOfJSDocComment(found.comment) ?? "")
    .join("")
    .trim();
}

it("The door is read whole.", () => {
  expect(exported.length).toBeGreaterThan(60);
});

it.each(exported)("$name is documented.", ({ declaration }) => {
  expect(commentOf(declaration)).not.toBe("");
});

describe("Every function and class that the package exports is explained on a page", () => {
  const folder = resolve(SOURCE, "../docs");
  const pages = readdirSync(folder)
    .filter((name) => name.endsWith(".md") && name !== basename(API_PAGE))
    .map((name) => readFileSync(resolve(folder, name), "utf8"))
    .concat(readFileSync(resolve(SOURCE, "../README.md"), "utf8"));
  const names = [index, history, langchain, doctor, inspector]
    .flatMap((entry) => Object.keys(entry))
    // The pages name errors by their codes.
    .filter((name) => !/^Invalid\w+Error$/.test(name));

  it.each([...new Set(names)])("%s", (name) => {
    const mention = new RegExp(`\\b${name}\\b`);
    expect(pages.some((page) => mention.test(page))).toBe(true);
  });
});

/** The types as the package has them: emitted to a folder that exists in memory only. */
const types = new Map<string, string>();
const outDir = resolve(SOURCE, "../emitted-types");
const host = ts.createCompilerHost(COMPILER_OPTIONS);
const { fileExists, readFile, getSourceFile } = host;
const parsed = new Map<string, ts.SourceFile | undefined>();
host.fileExists = (path) => types.has(path) || fileExists(path);
host.readFile = (path) => types.get(path) ?? readFile(path);
host.directoryExists = (path) => path.startsWith(outDir) || ts.sys.directoryExists(path);
// Both programs read the same libraries.
host.getSourceFile = (path, ...given) => {
  if (!parsed.has(path)) parsed.set(path, getSourceFile(path, ...given));
  return parsed.get(path);
};
// A comment is where its option is declared, so the types of the packages, which are most of the work, are left out.
host.resolveModuleNameLiterals = (literals, containing, redirected, options) =>
  literals.map(({ text }) =>
    text.startsWith(".")
      ? ts.resolveModuleName(text, containing, options, host, undefined, redirected, ts.ModuleKind.ESNext)
      : { resolvedModule: undefined },
  );
const emitOptions = { declaration: true, emitDeclarationOnly: true, rootDir: SOURCE, outDir };
ts.createProgram([DOOR], { ...COMPILER_OPTIONS, ...emitOptions }, host).emit(undefined, (path, text) =>
  types.set(path, text),
);

const door = resolve(outDir, "index.d.ts");
const program = ts.createProgram([door], COMPILER_OPTIONS, host);
const checker = program.getTypeChecker();
const doorSymbol = checker.getSymbolAtLocation(program.getSourceFile(door) as ts.Node) as ts.Symbol;

/** The members of exported options, also those that a type maps from the table of settings. */
const members = checker.getExportsOfModule(doorSymbol).flatMap((symbol) => {
  if (!/Options$|^RunContext$/.test(symbol.name)) return [];
  return checker
    .getDeclaredTypeOfSymbol(checker.getAliasedSymbol(symbol))
    .getProperties()
    .map((member) => ({
      name: `${symbol.name}.${member.name}`,
      comment: ts.displayPartsToString(member.getDocumentationComment(checker)).replaceAll("\n", " "),
    }));
});

it("The options are read.", () => {
  const names = members.map(({ name }) => name);
  expect(names).toContain("RunContext.maxIterations");
  expect(names).toContain("AgentGraphOptions.middleware");
});

it.each(members)("$name is documented.", ({ comment }) => {
  expect(comment).not.toBe("");
});

const options = Object.entries<Setting>(SETTINGS).flatMap(([name, { perRun }]) => [
  { name: `AgentGraphOptions.${name}`, help: HELP.get(name) },
  ...(perRun === undefined ? [] : [{ name: `RunContext.${name}`, help: HELP.get(name) }]),
]);

it.each(options)("$name shows the help of its setting.", ({ name, help }) => {
  expect(members.find((member) => member.name === name)?.comment).toBe(help);
});

describe("docs/api.md", () => {
  const page = readFileSync(API_PAGE, "utf8");

  it("is what `npx tsx scripts/write-api-docs.ts` writes", () => {
    // Compared as a whole, as a diff of two pages says less than the command above.
    expect(page === renderApiPage()).toBe(true);
  });

  it("has each export once", () => {
    const entries = ["index", "langchain", "doctor", "inspector"].map((name) =>
      resolve(SOURCE, `${name}.ts`),
    );
    const names = entries.flatMap(readExports).map(({ name }) => name);
    const headings = [...page.matchAll(/^####? (.+)$/gm)].map((match) => match[1]);
    const chapters = new Set(["Errors", "Types"]);
    expect(headings.filter((heading) => !chapters.has(heading ?? "")).sort()).toEqual(names.sort());
  });

  it("has a function with its signature and its errors", () => {
    expect(page).toMatch(
      /### createModel\n\n[^#]+function createModel\(name: string, [^#]+Throws:\n\n- `InvalidModelError` for /,
    );
  });

  it("shows a class without bodies and private members", () => {
    const [shown = ""] = /class AgentGraph\b[\s\S]*?```/.exec(page) ?? [];
    expect(shown).toContain("): Promise<AgentResult<Own>>;");
    expect(shown).not.toMatch(/#|return |constructor/);
  });

  it("marks what the entry for browsers exports as well", () => {
    expect(page).toMatch(/### repairHistory\n\n\*\*history\*\* · /);
    expect(page).not.toMatch(/### createAgentGraph\n\n\*\*history\*\*/);
  });
});
