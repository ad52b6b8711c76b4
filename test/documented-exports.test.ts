/** What an editor shows on hover: every export has it, and every option. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";
import { HELP } from "../scripts/write-settings-table/settings-documents.js";
import { SETTINGS } from "../src/agent/settings/settings.js";
import type { Setting } from "../src/shared/check-settings.js";

const DOOR = resolve(dirname(fileURLToPath(import.meta.url)), "../src/index.ts");
const COMPILER_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  strict: true,
  noCheck: true,
  types: [],
};
const parse = (path: string) =>
  ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);

interface Exported {
  readonly name: string;
  readonly declaration: ts.Node;
}

const exported: readonly Exported[] = parse(DOOR).statements.flatMap((statement) => {
  if (!ts.isExportDeclaration(statement) || !statement.exportClause) return [];
  if (!ts.isNamedExports(statement.exportClause) || !statement.moduleSpecifier) return [];
  const path = resolve(
    dirname(DOOR),
    statement.moduleSpecifier.getText().slice(1, -1).replace(/\.js$/, ".ts"),
  );
  const declarations = declarationsOf(parse(path));
  return statement.exportClause.elements.map(({ name, propertyName }) => {
    const declaration = declarations.get((propertyName ?? name).text);
    if (declaration === undefined) throw new Error(`${path} does not declare ${name.text}.`);
    return { name: name.text, declaration };
  });
});

/** Overloads and a constant beside its type are one name: the first one is what is documented. */
function declarationsOf(file: ts.SourceFile): ReadonlyMap<string, ts.Node> {
  const found = new Map<string, ts.Node>();
  for (const statement of file.statements) {
    const named = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    for (const node of named) {
      const name: unknown = "name" in node ? node.name : undefined;
      if (typeof name !== "object" || name === null || !ts.isIdentifier(name as ts.Node)) continue;
      const { text } = name as ts.Identifier;
      if (!found.has(text)) found.set(text, node);
    }
  }
  return found;
}

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

/** The types as the package has them: emitted to a folder that exists in memory only. */
const types = new Map<string, string>();
const SOURCE = dirname(DOOR);
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
