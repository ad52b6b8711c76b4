/** A declaration as its user sees it: no bodies, no private members, no `export`. */

import ts from "typescript";
import type { Named } from "./read-exports.js";

export function renderSignature(declaration: Named): string {
  if (ts.isFunctionDeclaration(declaration)) return `${withoutBody(declaration)};`;
  if (ts.isClassDeclaration(declaration)) return renderClass(declaration);
  if (ts.isVariableDeclaration(declaration)) return `const ${renderConstant(declaration)};`;
  return declaration.getText().replace(/^export /, "");
}

function renderConstant({ name, type, initializer }: ts.VariableDeclaration): string {
  return type === undefined
    ? `${name.getText()} = ${initializer?.getText()}`
    : `${name.getText()}: ${type.getText()}`;
}

function renderClass(declaration: ts.ClassDeclaration): string {
  const heritage = declaration.heritageClauses?.map((clause) => ` ${clause.getText()}`).join("") ?? "";
  // Errors are thrown by their users too; all else is made by the library.
  const isMadeByUsers = heritage.endsWith("Error");
  const shown = declaration.members.filter((member) => isShown(member) && (isMadeByUsers || !makes(member)));
  const lines = shown.map((member) => `${commentBefore(member)}  ${renderMember(member)};\n`);
  const parameters = declaration.typeParameters?.map((parameter) => parameter.getText()).join(", ");
  const generics = parameters === undefined ? "" : `<${parameters}>`;
  return `class ${declaration.name?.text}${generics}${heritage} {\n${lines.join("")}}`;
}

function isShown(member: ts.ClassElement): boolean {
  const isPrivate =
    (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.NonPublicAccessibilityModifier) !== 0;
  const isHidden =
    member.name !== undefined &&
    (ts.isPrivateIdentifier(member.name) ||
      ts.isComputedPropertyName(member.name) ||
      member.name.getText().startsWith("_"));
  const isInternal = ts.getJSDocTags(member).some(({ tagName }) => tagName.text === "internal");
  return !isPrivate && !isHidden && !isInternal;
}

/** A constructor, or a static method in its place. */
function makes(member: ts.ClassElement): boolean {
  return (
    ts.isConstructorDeclaration(member) ||
    (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0
  );
}

function renderMember(member: ts.ClassElement): string {
  const text = ts.isPropertyDeclaration(member) ? member.getText() : withoutBody(member);
  return text.replace(/^(?:(?:override|declare|async) )*\*?/, "").replace(/;$/, "");
}

function commentBefore(member: ts.ClassElement): string {
  const [comment] = ts.getJSDocCommentsAndTags(member);
  return comment === undefined ? "" : `  ${comment.getText()}\n`;
}

function withoutBody(declaration: ts.FunctionDeclaration | ts.ClassElement): string {
  const body = "body" in declaration ? (declaration.body as ts.Node | undefined) : undefined;
  const end = (body?.getStart() ?? declaration.getEnd()) - declaration.getStart();
  return declaration
    .getText()
    .slice(0, end)
    .trim()
    .replace(/^export (?:async )?/, "");
}
