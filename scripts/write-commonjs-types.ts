/**
 * Writes a second copy of the declarations for TypeScript's CommonJS files, beside those in `dist`.
 *
 * LangChain's packages have two copies of each class, and TypeScript treats them as different classes. A CommonJS
 * file gets the copies for `require`, so its declarations must name the same ones. There is only one copy of the
 * code, because Node can require it.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const RELATIVE_SPECIFIER = /((?:from|import)\s*\(?\s*)"(\.[^"]*)\.js"/g;

for (const path of readdirSync(DIST, { recursive: true, encoding: "utf8" })) {
  if (!path.endsWith(".d.ts")) continue;
  const declarations = readFileSync(join(DIST, path), "utf8");
  const name = path.replace(/\.d\.ts$/, ".d.cts");
  writeFileSync(join(DIST, name), declarations.replaceAll(RELATIVE_SPECIFIER, '$1"$2.cjs"'));
}
