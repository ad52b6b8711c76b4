import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
/** Inside the repository, so that the examples find the packages. */
const directory = mkdtempSync(join(ROOT, "test/.readme-"));

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const examples = [...readme.matchAll(/```ts run\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");

afterAll(() => rmSync(directory, { recursive: true }));

describe("the README", () => {
  const print = vi.spyOn(console, "log").mockImplementation(() => {});
  beforeEach(() => print.mockClear());

  it("has its four examples", () => {
    expect(examples).toHaveLength(4);
  });

  it.each(examples)("prints what its example %# says", async (code) => {
    const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1]);
    const file = join(directory, `example-${examples.indexOf(code)}.ts`);
    writeFileSync(file, code);
    await import(/* @vite-ignore */ file);
    const printed = print.mock.calls.map((line) => line.map(format).join(" "));
    expect(printed).toEqual(expected);
    expect(expected.length).toBeGreaterThan(0);
  });

  it("names every setting of the table that the code has", async () => {
    const { BUILD_SETTING_NAMES } = await import("../src/settings/build-settings.js");
    for (const name of BUILD_SETTING_NAMES) expect(readme).toContain(`\`${name}\``);
  });
});

function format(value: unknown): string {
  return Array.isArray(value) ? `[ ${value.map((item) => `'${item}'`).join(", ")} ]` : String(value);
}
