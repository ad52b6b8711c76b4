/** The help of each setting: the comment of its row. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");
const TABLES = ["src/agent/settings/table.ts", "src/threads/shared-settings.ts"];

/** The comments of the rows in the tables, in one line each, by the name of the setting. */
export function readHelp(): ReadonlyMap<string, string> {
  return new Map(TABLES.flatMap((path) => parse(path).statements.flatMap(rowsIn)).map(helpOf));
}

function parse(path: string): ts.SourceFile {
  const text = readFileSync(resolve(ROOT, path), "utf8");
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** The rows of a statement such as `export const TURN_SETTINGS = { … } as const satisfies SettingsTable`. */
function rowsIn(statement: ts.Statement): readonly ts.ObjectLiteralElementLike[] {
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.flatMap(({ initializer }) => {
    if (initializer === undefined || !ts.isSatisfiesExpression(initializer)) return [];
    const { expression, type } = initializer;
    const isTable = type.getText() === "SettingsTable" && ts.isAsExpression(expression);
    return isTable && ts.isObjectLiteralExpression(expression.expression)
      ? [...expression.expression.properties]
      : [];
  });
}

function helpOf(row: ts.ObjectLiteralElementLike): [name: string, help: string] {
  const name = row.name?.getText() ?? "";
  const comments = ts
    .getJSDocCommentsAndTags(row)
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "");
  return [name, comments.join(" ").replaceAll(/\s+/g, " ")];
}
