/** Every regular expression of `src` and `server`. */

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";

export interface SourcePattern {
  /** `src/shared/text.ts:41`. */
  readonly place: string;
  readonly pattern: RegExp;
}

const ROOT = resolve(import.meta.dirname, "../../..");
/** A line of a stack. */
const CALLER = /\/((?:src|server)\/[\w/-]+\.ts)(?:\?\w+)?:(\d+):\d+\)?$/;

/**
 * Those that are written out are read from the sources. The others are made by code, so their modules are loaded again
 * while the constructor is watched.
 */
export async function patternsOfSources(): Promise<{
  readonly patterns: readonly SourcePattern[];
  /** Places that make no pattern while their module is loaded. */
  readonly late: readonly string[];
}> {
  const files = ["src", "server"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name)),
  );
  const found = files.map((file) => ({ file, ...readFile(file) }));
  const made = await watchConstructor(async () => {
    for (const { file, makers } of found)
      if (makers.length > 0) await import(`${pathToFileURL(join(ROOT, file))}?patterns`);
  });
  const makers = found.flatMap((file) => file.makers);
  return {
    patterns: [
      ...found.flatMap(({ written }) => written),
      ...made.filter(({ place }) => makers.includes(place)),
    ],
    late: makers.filter((place) => !made.some((one) => one.place === place)),
  };
}

/** The patterns of a file, and the places that make patterns. */
function readFile(file: string): { written: SourcePattern[]; makers: string[] } {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(ROOT, file), "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const written: SourcePattern[] = [];
  const makers: string[] = [];
  const visit = (node: ts.Node): void => {
    const place = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (ts.isRegularExpressionLiteral(node)) written.push({ place, pattern: readLiteral(node.text) });
    const isCall = ts.isNewExpression(node) || ts.isCallExpression(node);
    if (isCall && /(?:^|\.)RegExp$/.test(node.expression.getText())) makers.push(place);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { written, makers };
}

function readLiteral(literal: string): RegExp {
  const end = literal.lastIndexOf("/");
  return new RegExp(literal.slice(1, end), literal.slice(end + 1));
}

/** What the constructor makes in the meantime, with the place of the sources that called it. */
async function watchConstructor(load: () => Promise<void>): Promise<readonly SourcePattern[]> {
  const { RegExp: original } = globalThis;
  const made: SourcePattern[] = [];
  const note = (pattern: RegExp): RegExp => {
    const callers = new Error().stack?.split("\n").map((line) => CALLER.exec(line)) ?? [];
    const [, file, line] = callers.find((caller) => caller !== null) ?? [];
    made.push({ place: `${file}:${line}`, pattern });
    return pattern;
  };
  globalThis.RegExp = new Proxy(original, {
    construct: (target, given) => note(Reflect.construct(target, given)),
    apply: (target, _, given) => note(Reflect.apply(target, undefined, given)),
  });
  try {
    await load();
  } finally {
    globalThis.RegExp = original;
  }
  return made;
}
