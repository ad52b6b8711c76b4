/**
 * Keeps the declarations that the entries of the package need, and writes a second copy of them for TypeScript's
 * CommonJS files, beside those in `dist`.
 *
 * LangChain's packages have two copies of each class, and TypeScript treats them as different classes. A CommonJS
 * file gets the copies for `require`, so its declarations must name the same ones. There is only one copy of the
 * code, because Node can require it.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const ENTRIES = ["index", "history", "langchain", "doctor", "inspector"];
const RELATIVE_SPECIFIER = /((?:from|import)\s*\(?\s*)"(\.[^"]*)\.js"/g;

// A set also yields what is added while it is read.
const needed = new Set(ENTRIES.map((name) => join(DIST, `${name}.d.ts`)));
for (const path of needed) {
  const declarations = readFileSync(path, "utf8");
  for (const [, , specifier] of declarations.matchAll(RELATIVE_SPECIFIER))
    needed.add(join(dirname(path), `${specifier}.d.ts`));
  const copy = declarations.replaceAll(RELATIVE_SPECIFIER, '$1"$2.cjs"');
  writeFileSync(path.replace(/\.d\.ts$/, ".d.cts"), copy);
}
for (const name of readdirSync(DIST, { recursive: true, encoding: "utf8" })) {
  const path = join(DIST, name);
  if (path.endsWith(".d.ts") && !needed.has(path)) rmSync(path);
}
