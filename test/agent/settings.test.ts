/** The table of settings: its values, its words, and the documents that list it. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  HELP,
  SETTINGS_DOCUMENTS,
  withSettings,
} from "../../scripts/write-settings-table/settings-documents.js";
import { SERVED_DEFAULTS } from "../../server/settings.js";
import { variableOf } from "../../src/shared/check-settings.js";
import { resolveSettings, SETTINGS, type Setting, type SettingName } from "../support/internals.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");
const read = (path: string) => readFileSync(resolve(ROOT, path), "utf8");
const rows = Object.entries<Setting>(SETTINGS).map(([name, row]) => ({
  ...row,
  name: name as SettingName,
  help: HELP.get(name) ?? "",
  variable: row.env && variableOf(name),
}));

/** The last sentence of the help, without its end. Without a value, the model or another setting decides. */
function wordsFor(value: unknown): RegExp {
  if (value === undefined) return /\. (?:Required|Default: \S.+)\.$/;
  if (typeof value === "function") return /\. Default: a `cachedCreateModel\(\)` for this graph alone\.$/;
  const words = {
    object: "none",
    string: `\`${value}\``,
    number: value === Number.POSITIVE_INFINITY ? "no limit" : Number(value).toLocaleString("en"),
    boolean: String(value),
  };
  return new RegExp(`\\. Default: ${words[typeof value as keyof typeof words]}\\.$`);
}

describe.each(rows)("The option $name", ({ name, help, expects, default: value }) => {
  it("has the default that its help ends with", () => {
    expect(help).toMatch(wordsFor(value));
    const resolved = Object.entries(resolveSettings({ model: "offline:", [name]: undefined }));
    const expected = typeof value === "function" ? expect.any(Function) : value;
    expect(resolved.find(([option]) => option === name)).toEqual([name, expected]);
  });

  it("has words that complete a sentence", () => {
    expect(expects).toMatch(/^\S.*[^.\s]$/);
  });
});

it.each(rows.filter(({ lowerOnly }) => lowerOnly))(
  "The limit $name is a number that a run may choose",
  ({ perRun, default: value }) => {
    expect([perRun, typeof value]).toEqual([true, "number"]);
  },
);

describe("resolveSettings", () => {
  it("keeps every value that is set, including false, 0 and an empty text", () => {
    const given = { autoInvoke: false, maxToolCalls: 0, systemPrompt: "", toolChoice: "none" } as const;
    expect(resolveSettings({ model: "offline:", ...given })).toMatchObject(given);
  });

  it("makes a new function for each graph without `createModel`", () => {
    const [first, second] = [1, 2].map(() => resolveSettings({ model: "offline:" }).createModel);
    expect(first).not.toBe(second);
  });

  it("uses each environment variable for one option", () => {
    const names = rows.flatMap(({ variable }) => variable || []);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(20);
  });
});

// docs/settings.md and `.env.example` list the settings of the table, and server/README.md those of the served graph.

it.each(SETTINGS_DOCUMENTS)("$path is what `npm run docs:settings` writes", (document) => {
  const text = read(document.path);
  expect(text).toBe(withSettings(text, document));
});

it.each(rows)(
  "docs/settings.md has a row for $name with its choice per run and its help",
  ({ name, help, perRun, lowerOnly }) => {
    const cells = read("docs/settings.md")
      .split("\n")
      .find((line) => line.startsWith(`| \`${name}\` |`))
      ?.split(" | ");
    const choice = lowerOnly ? "may lower it" : perRun ? "yes" : "";
    expect(cells).toEqual([`| \`${name}\``, choice, `${help} |`]);
  },
);

it.each(rows.filter(({ variable }) => variable !== undefined))(
  "The file .env.example has $variable under the help of $name",
  ({ name, variable, help }) => {
    const served = new Map<string, unknown>(Object.entries(SERVED_DEFAULTS)).get(name) ?? "";
    const blocks = read(".env.example").split("\n\n");
    const block = blocks.find((text) => text.endsWith(`\n${variable}=${served}`));
    expect(block?.startsWith(`# ${help}\n`)).toBe(true);
  },
);

it("server/README.md names the defaults that only the served graph has", () => {
  for (const [name, value] of Object.entries(SERVED_DEFAULTS)) {
    const variable = rows.find((row) => row.name === name)?.variable;
    expect(read("server/README.md").replaceAll("\n", " ")).toContain(`\`${variable}\` is \`${value}\``);
  }
});
