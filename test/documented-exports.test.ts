/** What an editor shows on hover: every export has it, and every option. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const DOOR = resolve(dirname(fileURLToPath(import.meta.url)), "../src/index.ts");
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

const members = exported.flatMap(({ name, declaration }) =>
  ts.isInterfaceDeclaration(declaration) && /Options$|^RunContext$/.test(name)
    ? declaration.members.map((member) => ({ name: `${name}.${member.name?.getText()}`, member }))
    : [],
);

it("The options are read.", () => {
  expect(members.map(({ name }) => name)).toContain("RunContext.maxIterations");
});

it.each(members)("$name is documented.", ({ member }) => {
  expect(commentOf(member)).not.toBe("");
});
