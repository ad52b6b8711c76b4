/** The page of all exports: what each is for, its signature, and the errors that it throws. */

import { fileURLToPath } from "node:url";
import ts from "typescript";
import { type Exported, type Named, readExports } from "./read-exports.js";
import { renderSignature } from "./render-signature.js";

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const API_PAGE = inRepository("docs/api.md");

const INTRODUCTION = `# API

<!-- Written by scripts/write-api-docs.ts from the JSDoc of the code. -->

Every export with its signature. A type follows the first function that takes or returns it; the others are under "Types". What is
marked **history** is also exported by \`langgraph-tether/history\`, which runs without LangGraph, zod and Node.
`;

const ENTRIES = [
  { name: "langgraph-tether", source: "src/index.ts", needs: "" },
  { name: "langgraph-tether/langchain", source: "src/langchain.ts", needs: "Needs the package `langchain`." },
  { name: "langgraph-tether/doctor", source: "src/doctor.ts", needs: "Needs Node." },
  { name: "langgraph-tether/inspector", source: "src/inspector.ts", needs: "Needs Node." },
];

/** What most readers look for, in this order. The rest follows by name. */
const MOST_USED = [
  ...["createAgentGraph", "AgentGraph", "createModel"],
  ...["toModelInput", "askModel", "PairedMessagesValue", "pairedMessagesReducer", "repairHistory"],
  ...["readFullHistory", "restoreCovered", "agentMiddleware", "chatMiddleware", "functionMiddleware"],
  ...["tetherMiddleware", "diagnoseThread", "planRepair", "applyRepair", "undo"],
];

export function renderApiPage(): string {
  const history = new Set(readExports(inRepository("src/history.ts")).map(({ name }) => name));
  const anchorOf = createAnchors();
  const contents: string[] = [];
  const sections = ENTRIES.map(({ name, source, needs }) => {
    const chapters = chaptersOf(readExports(inRepository(source)));
    const links = [`**[${name}](#${anchorOf(name.replace("/", ""))})**`];
    const texts = chapters.flatMap(({ heading, entries }) => {
      if (heading !== undefined) links.push(`[${heading}](#${anchorOf(heading)})`);
      return [
        ...(heading === undefined ? [] : [`### ${heading}\n`]),
        ...entries.map((entry, index) => {
          const anchor = anchorOf(entry.name);
          const isMain = heading === undefined && index === 0;
          if (isMain) links.push(`[${entry.name}](#${anchor})`);
          return renderEntry(entry, isMain ? "###" : "####", history.has(entry.name) ? "**history** · " : "");
        }),
      ];
    });
    const [title, ...others] = links;
    contents.push(`- ${title}: ${others.join(" · ")}`);
    return [`## ${name}\n`, ...(needs === "" ? [] : [`${needs}\n`]), ...texts].join("\n");
  });
  return [INTRODUCTION, `${contents.join("\n")}\n`, ...sections].join("\n");
}

interface Chapter {
  readonly heading?: string;
  readonly entries: readonly Exported[];
}

/** Each function, constant and class with the types that it names first, then errors, then the other types. */
function chaptersOf(exported: readonly Exported[]): Chapter[] {
  const isPlain = ({ declaration }: Exported) => !isError(declaration) && !isType(declaration);
  const types = new Set(exported.filter(({ declaration }) => isType(declaration)).sort(byName));
  const mains = exported
    .filter(isPlain)
    .sort((one, other) => rankOf(one) - rankOf(other) || byName(one, other))
    .map((main): Chapter => {
      const signature = renderSignature(main.declaration);
      const named = [...types].filter(({ name }) => new RegExp(`\\b${name}\\b`).test(signature));
      for (const type of named) types.delete(type);
      return { entries: [main, ...named] };
    });
  const errors = exported.filter(({ declaration }) => isError(declaration)).sort(byName);
  const last = [
    { heading: "Errors", entries: errors },
    { heading: "Types", entries: [...types] },
  ];
  return [...mains, ...last.filter(({ entries }) => entries.length > 0)];
}

const byName = (one: Exported, other: Exported) => one.name.localeCompare(other.name, "en");
const rankOf = ({ name }: Exported) =>
  MOST_USED.includes(name) ? MOST_USED.indexOf(name) : MOST_USED.length;
const isError = (declaration: Named) => ts.isClassDeclaration(declaration) && isErrorName(declaration);
const isType = (declaration: Named) =>
  ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration);

/** GitHub numbers headings that differ in case only, in the order of the page. */
function createAnchors(): (heading: string) => string {
  const counts = new Map<string, number>();
  return (heading) => {
    const anchor = heading.toLowerCase();
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

function isErrorName({ name }: ts.ClassDeclaration): boolean {
  return name?.text.endsWith("Error") === true;
}

function renderEntry({ name, declaration }: Exported, level: string, mark: string): string {
  const paragraphs = [
    `${level} ${name}`,
    `${mark}${describe(declaration)}`,
    `\`\`\`ts\n${renderSignature(declaration)}\n\`\`\``,
    ...listOf("throws", "Throws", declaration),
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

function describe(declaration: Named): string {
  const comments = ts.getJSDocCommentsAndTags(declaration).filter(ts.isJSDoc);
  return comments.map(({ comment }) => textOf(comment)).join("\n");
}

function listOf(tag: string, heading: string, declaration: Named): string[] {
  const tags = ts.getJSDocTags(declaration).filter(({ tagName }) => tagName.text === tag);
  if (tags.length === 0) return [];
  return [`${heading}:\n\n${tags.map(({ comment }) => `- ${errorFirst(textOf(comment))}`).join("\n")}`];
}

/** `InvalidSettingError for …` with the class as code. */
function errorFirst(text: string): string {
  return text.replace(/^(\w*Error)\b/, "`$1`").replaceAll("\n", " ");
}

function textOf(comment: Parameters<typeof ts.getTextOfJSDocComment>[0]): string {
  return (ts.getTextOfJSDocComment(comment) ?? "").replace(/\{@link (\w+)\}/g, "`$1`").trim();
}
