import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const DIALECTS = new URL("../../../src/providers/dialects/", import.meta.url);
const files = readdirSync(DIALECTS).filter((name) => name.endsWith(".ts") && name !== "rule.ts");

it.each(files)("Each rule of %s that is not inferred has a source.", (name) => {
  const lines = readFileSync(new URL(name, DIALECTS), "utf8").split("\n");
  const isSource = (line = "") => /\/\/ https:/.test(line);
  const unsourced = lines.filter(
    (line, index) => /\b(confirmed|documented)\(/.test(line) && !isSource(lines[index - 1]),
  );
  expect(unsourced).toEqual([]);
  const text = lines.join("\n");
  expect(text.includes("fromSource(")).toBe(/^ \* https:/m.test(text));
});
