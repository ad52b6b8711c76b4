/** The documents that list the settings, with the part that is written from their table. */

import { SERVER_SETTINGS } from "../../server/access/server-settings.js";
import { SERVED_DEFAULTS } from "../../server/settings.js";
import { SETTINGS } from "../../src/agent/settings/settings.js";
import { inEnvironment, type Setting, variableOf } from "../../src/shared/check-settings.js";
import { exceptionsTable } from "./exceptions.js";
import { readHelp } from "./read-help.js";
import { refusalsOfSections } from "./refusals.js";

export interface SettingsDocument {
  readonly path: string;
  /** The lines before and after the part that is written. */
  readonly marks: readonly [start: string, end: string];
  readonly content: string;
}

/** The help of each setting, by its name. */
export const HELP = readHelp();
const ROWS = Object.entries<Setting>(SETTINGS);
const helpOf = (name: string) => HELP.get(name) ?? "";
const served = new Map<string, unknown>(Object.entries(SERVED_DEFAULTS));

const TABLE_HEAD = ["| option | per run | what it does |", "| --- | --- | --- |"];

function tableRow([name, { perRun, lowerOnly }]: (typeof ROWS)[number]): string {
  const choice = perRun === undefined ? "" : lowerOnly === true ? "may lower it" : "yes";
  const cells = [`\`${name}\``, choice, helpOf(name)];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function variable([name, row]: (typeof ROWS)[number]): string[] {
  if (row.env === undefined) return [];
  const { expects } = inEnvironment(row);
  return [`# ${helpOf(name)}\n# Expected: ${expects}.\n${variableOf(name)}=${served.get(name) ?? ""}`];
}

/** The help of the settings that a run can choose: Studio shows it in a form, and no comment is there when it runs. */
const RUN_HELP = ROWS.flatMap(([name, { perRun }]) => {
  const help = helpOf(name).replace(/ (?:Required|Default: .+)\.$/, " Default: that of the graph.");
  return perRun === undefined ? [] : [asFormatted(`  ${name}:`, JSON.stringify(help))];
}).join("\n");

function asFormatted(name: string, value: string): string {
  const line = `${name} ${value},`;
  return line.length > 110 ? `${name}\n    ${value},` : line;
}

type ServerRow = (typeof SERVER_SETTINGS)[keyof typeof SERVER_SETTINGS];
const SERVER_ROWS = Object.entries<ServerRow>(SERVER_SETTINGS);

const SERVER_TABLE = [
  "| environment | what it does |",
  "| --- | --- |",
  ...SERVER_ROWS.map(([name, { help }]) => `| \`${name}\` | ${help.replaceAll("|", "\\|")} |`),
].join("\n");

const serverVariable = ([name, { help, expects }]: (typeof SERVER_ROWS)[number]) =>
  `# ${help}\n# Expected: ${expects}.\n${name}=`;

export const SETTINGS_DOCUMENTS: readonly SettingsDocument[] = [
  {
    path: "docs/settings.md",
    marks: ["<!-- Settings: written by `npm run docs:settings`. -->", "<!-- End of the settings. -->"],
    content: [...TABLE_HEAD, ...ROWS.map(tableRow)].join("\n"),
  },
  {
    path: "server/README.md",
    marks: [
      "<!-- Settings of the server: written by `npm run docs:settings`. -->",
      "<!-- End of the settings of the server. -->",
    ],
    content: SERVER_TABLE,
  },
  {
    path: ".env.example",
    marks: [
      "# Settings of the server: written by `npm run docs:settings`.",
      "# End of the settings of the server.",
    ],
    content: SERVER_ROWS.map(serverVariable).join("\n\n"),
  },
  {
    path: ".env.example",
    marks: ["# Settings: written by `npm run docs:settings`.", "# End of the settings."],
    content: ROWS.flatMap(variable).join("\n\n"),
  },
  ...[...refusalsOfSections()].map(
    ([title, content]): SettingsDocument => ({
      path: "docs/troubleshooting.md",
      marks: [`<!-- ${title}: written by \`npm run docs:settings\`. -->`, `<!-- End of: ${title}. -->`],
      content,
    }),
  ),
  {
    path: "docs/providers.md",
    marks: ["<!-- Exceptions: written by `npm run docs:settings`. -->", "<!-- End of the exceptions. -->"],
    content: exceptionsTable(),
  },
  {
    path: "src/agent/settings/run-help.ts",
    marks: ["// Settings: written by `npm run docs:settings`.", "// End of the settings."],
    content: `export const RUN_HELP: Readonly<Record<keyof RunSchemas, string>> = {\n${RUN_HELP}\n};`,
  },
];

/** The text of a document with its part as the table has it. */
export function withSettings(text: string, { path, marks, content }: SettingsDocument): string {
  const [start, end] = marks.map((mark) => text.indexOf(mark));
  if (start === undefined || end === undefined || start < 0 || end < start)
    throw new Error(`Expected ${path} to have the lines "${marks[0]}" and "${marks[1]}".`);
  return `${text.slice(0, start)}${marks[0]}\n\n${content}\n\n${text.slice(end)}`;
}
