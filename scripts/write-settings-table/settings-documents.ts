/** The documents that list the settings, with the part that is written from their table. */

import { SERVER_SETTINGS } from "../../server/access/server-settings.js";
import { SERVED_DEFAULTS } from "../../server/settings.js";
import { SETTINGS } from "../../src/agent/settings/settings.js";
import type { Setting } from "../../src/shared/check-settings.js";
import { refusalsPage } from "./refusals.js";

export interface SettingsDocument {
  readonly path: string;
  /** The lines before and after the part that is written. */
  readonly marks: readonly [start: string, end: string];
  readonly content: string;
}

const ROWS = Object.entries<Setting>(SETTINGS);
const served = new Map<string, unknown>(Object.entries(SERVED_DEFAULTS));

const TABLE_HEAD = ["| option | environment | per run | what it does |", "| --- | --- | --- | --- |"];

function tableRow([name, { env, perRun, lowerOnly, help }]: (typeof ROWS)[number]): string {
  const choice = perRun === undefined ? "" : lowerOnly === true ? "may lower it" : "yes";
  const cells = [`\`${name}\``, env === undefined ? "" : `\`${env.name}\``, choice, help];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function variable([name, { env, help, expects }]: (typeof ROWS)[number]): string[] {
  if (env === undefined) return [];
  return [`# ${help}\n# Expected: ${env.expects ?? expects}.\n${env.name}=${served.get(name) ?? ""}`];
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
    path: "docs/settings.md",
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
  {
    path: "docs/troubleshooting.md",
    marks: ["<!-- Refusals: written by `npm run docs:settings`. -->", "<!-- End of the refusals. -->"],
    content: refusalsPage(),
  },
];

/** The text of a document with its part as the table has it. */
export function withSettings(text: string, { path, marks, content }: SettingsDocument): string {
  const [start, end] = marks.map((mark) => text.indexOf(mark));
  if (start === undefined || end === undefined || start < 0 || end < start)
    throw new Error(`Expected ${path} to have the lines "${marks[0]}" and "${marks[1]}".`);
  return `${text.slice(0, start)}${marks[0]}\n\n${content}\n\n${text.slice(end)}`;
}
