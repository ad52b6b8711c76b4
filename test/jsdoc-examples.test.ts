/** The examples in the comments of the source run, and print what they say. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
/** Inside the repository, so that the examples find the packages. */
const directory = mkdtempSync(join(ROOT, "test/.jsdoc-"));
afterAll(() => rmSync(directory, { recursive: true }));

const EXAMPLE =
  /^ \* @example\n \* ```ts\n((?: \*.*\n)*?) \* ```\n(?: \*.*\n)*? \*\/\nexport (?:async )?\w+ (\w+)/gm;

const examples = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .flatMap((path) =>
    [...readFileSync(join(ROOT, "src", path), "utf8").matchAll(EXAMPLE)].map(([, lines = "", name = ""]) => ({
      name,
      code: lines.replaceAll(/^ \* ?/gm, ""),
    })),
  );

describe("the comment of", () => {
  const print = vi.spyOn(console, "log").mockImplementation(() => {});
  beforeEach(() => print.mockClear());

  it.each(examples)("$name has an example that prints what it says", async ({ name, code }) => {
    const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1]);
    const file = join(directory, `${name}.ts`);
    writeFileSync(file, code);
    await import(/* @vite-ignore */ file);
    expect(print.mock.calls.map((values) => values.join(" "))).toEqual(expected);
    expect(expected.length).toBeGreaterThan(0);
  });

  it.each([
    "agentMiddleware",
    "chatMiddleware",
    "functionMiddleware",
    "MiddlewareTermination",
    "readFullHistory",
    "restoreCovered",
  ])("%s has an example", (name) => {
    expect(examples.map((example) => example.name)).toContain(name);
  });
});
