/**
 * The declarations once more for TypeScript's CommonJS files, beside those in `dist`.
 *
 * LangChain's packages have each class twice, and to TypeScript they are different classes. A CommonJS file gets those
 * for `require`, so the declarations that it reads must name the same ones. The code is one: Node can require it.
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
