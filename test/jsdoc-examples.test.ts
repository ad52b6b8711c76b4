/** The examples that an editor shows on hover run, and print what they say. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, describe, expect, it, vi } from "vitest";
import { typeErrorsOf } from "./support/type-errors.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
/** Inside the repository, so that the examples find the packages. */
const directory = mkdtempSync(join(ROOT, "test/.jsdoc-examples-"));
afterAll(() => rmSync(directory, { recursive: true }));

type Callable = ts.FunctionDeclaration | ts.ClassDeclaration;

interface Exported {
  readonly name: string;
  readonly declaration: ts.Node;
  readonly examples: readonly string[];
}

const parse = (path: string) =>
  ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);

const exported = ["src/index.ts", "src/langchain.ts", "src/doctor.ts", "src/inspector.ts"].flatMap((entry) =>
  exportsOf(join(ROOT, entry)),
);

function exportsOf(entry: string): readonly Exported[] {
  return parse(entry).statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier || statement.isTypeOnly) return [];
    if (!statement.exportClause || !ts.isNamedExports(statement.exportClause)) return [];
    const specifier = statement.moduleSpecifier.getText().slice(1, -1);
    const file = parse(resolve(dirname(entry), specifier.replace(/\.js$/, ".ts")));
    const values = statement.exportClause.elements.filter(({ isTypeOnly }) => !isTypeOnly);
    return values.flatMap(({ name, propertyName }) => {
      const declaration = declarationOf(file, (propertyName ?? name).text);
      return declaration === undefined
        ? []
        : [{ name: name.text, declaration, examples: examplesOf(declaration) }];
    });
  });
}

/** The first one, if a name has overloads. */
function declarationOf(file: ts.SourceFile, name: string): ts.Node | undefined {
  return file.statements
    .flatMap((statement): readonly ts.NamedDeclaration[] =>
      ts.isVariableStatement(statement)
        ? statement.declarationList.declarations
        : isCallable(statement)
          ? [statement]
          : [],
    )
    .find((declaration) => declaration.name?.getText() === name);
}

function isCallable(node: ts.Node): node is Callable {
  return ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node);
}

function examplesOf(declaration: ts.Node): readonly string[] {
  return ts
    .getJSDocTags(declaration)
    .filter(({ tagName }) => tagName.text === "example")
    .map(({ comment }) => /```ts\n([\s\S]*?)```/.exec(ts.getTextOfJSDocComment(comment) ?? "")?.[1] ?? "");
}

/** The example of `TetherError` is also the example of its subclasses. */
function needsExample({ declaration }: Exported): boolean {
  if (!isCallable(declaration)) return false;
  const bases = ts.isClassDeclaration(declaration) ? (declaration.heritageClauses ?? []) : [];
  return !bases.some((clause) => clause.getText() === "extends TetherError");
}

describe("Every exported function", () => {
  it.each(exported.filter(needsExample))("has an example: $name", ({ examples }) => {
    expect(examples).not.toEqual([]);
  });

  it("is found", () => {
    const names = exported.filter(needsExample).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["repairHistory", "createModel", "MiddlewareTermination"]));
  });
});

const examples = exported.flatMap(({ name, examples }) => examples.map((code) => ({ name, code })));

describe("Every example", () => {
  it("compiles under `strict`", () => {
    const files = examples.map(({ name, code }) => {
      const file = join(directory, `compiled-${name}.ts`);
      writeFileSync(file, code);
      return file;
    });
    expect(typeErrorsOf(files)).toEqual([]);
  }, 600_000);

  it.each(examples)("imports this package, and prints what it says: $name", async ({ name, code }) => {
    const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1]);
    const file = join(directory, `${name}.ts`);
    writeFileSync(file, code);
    const print = vi.spyOn(console, "log").mockImplementation(() => {});
    await import(/* @vite-ignore */ file);
    const printed = print.mock.calls.map((line) => line.map(format).join(" "));
    print.mockRestore();
    expect(code).toMatch(/from "langgraph-tether(?:\/history|\/langchain|\/doctor|\/inspector)?";/);
    expect(printed).toEqual(expected);
    expect(expected).not.toEqual([]);
  });
});

function format(value: unknown): string {
  return Array.isArray(value) ? `[ ${value.map((item) => `'${item}'`).join(", ")} ]` : String(value);
}
