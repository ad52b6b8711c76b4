/** docs/settings.md and `.env.example` list the settings of the table. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import {
  HELP,
  SETTINGS_DOCUMENTS,
  withSettings,
} from "../../scripts/write-settings-table/settings-documents.js";
import { SERVED_DEFAULTS } from "../../server/settings.js";
import { SETTINGS } from "../../src/agent/settings/settings.js";
import { type Setting, variableOf } from "../../src/shared/check-settings.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");
const read = (path: string) => readFileSync(resolve(ROOT, path), "utf8");
const rows = Object.entries<Setting>(SETTINGS).map(([name, row]) => ({
  ...row,
  name,
  help: HELP.get(name),
  variable: row.env && variableOf(name),
}));

it.each(SETTINGS_DOCUMENTS)("$path is what `npm run docs:settings` writes", (document) => {
  const text = read(document.path);
  expect(text).toBe(withSettings(text, document));
});

it.each(rows)(
  "docs/settings.md has a row for $name with its variable, its choice per run and its help",
  ({ name, variable, help, perRun, lowerOnly }) => {
    const cells = read("docs/settings.md")
      .split("\n")
      .find((line) => line.startsWith(`| \`${name}\` |`))
      ?.split(" | ");
    const choice = lowerOnly ? "may lower it" : perRun ? "yes" : "";
    expect(cells).toEqual([`| \`${name}\``, variable ? `\`${variable}\`` : "", choice, `${help} |`]);
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

it("The README names the defaults that only the served graph has", () => {
  for (const [name, value] of Object.entries(SERVED_DEFAULTS)) {
    const variable = rows.find((row) => row.name === name)?.variable;
    expect(read("docs/settings.md").replaceAll("\n", " ")).toContain(`\`${variable}\` is \`${value}\``);
  }
});
