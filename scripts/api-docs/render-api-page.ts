/** The page of all exports: what each is for, its signature, and the errors that it throws. */

import { fileURLToPath } from "node:url";
import ts from "typescript";
import { type Exported, type Named, readExports } from "./read-exports.js";
import { renderSignature } from "./render-signature.js";

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const API_PAGE = inRepository("docs/api.md");

const INTRODUCTION = `# API

<!-- Written by scripts/write-api-docs.ts from the JSDoc of the code. -->

Every export of \`langgraph-tether\`, with its signature. What is marked **history** is also exported by
\`langgraph-tether/history\`, which runs without LangGraph, zod and Node. What is marked **langchain** is exported by
\`langgraph-tether/langchain\` only, which needs the package \`langchain\`. What is marked **doctor** is exported by
\`langgraph-tether/doctor\` only, and what is marked **inspector** by \`langgraph-tether/inspector\` only. Both need Node.
`;

interface Kind {
  readonly title: string;
  readonly has: (declaration: Named) => boolean;
}

const isError = (declaration: Named) => ts.isClassDeclaration(declaration) && isErrorName(declaration);

const KINDS: readonly Kind[] = [
  { title: "Functions", has: ts.isFunctionDeclaration },
  { title: "State fields and constants", has: ts.isVariableDeclaration },
  { title: "Classes", has: (declaration) => ts.isClassDeclaration(declaration) && !isError(declaration) },
  { title: "Errors", has: isError },
  {
    title: "Types",
    has: (declaration) => ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration),
  },
];

export function renderApiPage(): string {
  const langchain = readExports(inRepository("src/langchain.ts"));
  const doctor = readExports(inRepository("src/doctor.ts"));
  const inspector = readExports(inRepository("src/inspector.ts"));
  const exported = [...readExports(inRepository("src/index.ts")), ...langchain, ...doctor, ...inspector];
  const history = new Set(readExports(inRepository("src/history.ts")).map(({ name }) => name));
  const markOf = (entry: Exported): string => {
    if (langchain.includes(entry)) return "**langchain** · ";
    if (doctor.includes(entry)) return "**doctor** · ";
    if (inspector.includes(entry)) return "**inspector** · ";
    return history.has(entry.name) ? "**history** · " : "";
  };
  const anchorOf = createAnchors();
  const sections = KINDS.map(({ title, has }) => {
    const entries = exported
      .filter(({ declaration }) => has(declaration))
      .sort((one, other) => one.name.localeCompare(other.name, "en"));
    const links = entries.map(({ name }) => `[${name}](#${anchorOf(name)})`).join(" · ");
    const texts = entries.map((entry) => renderEntry(entry, markOf(entry)));
    return `## ${title}\n\n${links}\n\n${texts.join("\n")}`;
  });
  return `${INTRODUCTION}\n${sections.join("\n")}`;
}

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

function renderEntry({ name, declaration }: Exported, mark: string): string {
  const paragraphs = [
    `### ${name}`,
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
