/** What a module of explicit names exports, with the declaration of each. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import ts from "typescript";

/** A declaration that has a name of its own. */
export type Named =
  | ts.FunctionDeclaration
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableDeclaration;

export interface Exported {
  readonly name: string;
  readonly declaration: Named;
}

/**
 * Reads the source only, so that types are shown as they are written.
 *
 * @throws Error for a name that the module it comes from does not declare itself.
 */
export function readExports(entry: string): Exported[] {
  return parse(entry).statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return [];
    if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause)) return [];
    const specifier = statement.moduleSpecifier.getText().slice(1, -1);
    const path = resolve(dirname(entry), specifier.replace(/\.js$/, ".ts"));
    const declarations = parse(path).statements.flatMap(namedIn);
    return statement.exportClause.elements.map(({ name }) => {
      const declaration = declarations.find((found) => found.name?.getText() === name.text);
      if (declaration === undefined) throw new Error(`${path} does not declare ${name.text}.`);
      return { name: name.text, declaration };
    });
  });
}

function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
}

function namedIn(statement: ts.Statement): Named[] {
  if (ts.isVariableStatement(statement)) return [...statement.declarationList.declarations];
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement);
  return isNamed ? [statement] : [];
}
