/**
 * The documents, and what an editor shows on hover: their examples compile, run, and print what they say, their links
 * lead somewhere, and their tables are complete.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { type Exported, readExports } from "../scripts/api-docs/read-exports.js";
import { refusals } from "../scripts/write-settings-table/refusals.js";
import * as library from "../src/index.js";
import { MODEL_SOURCES } from "../src/providers/models/create-model.js";
import { look } from "./support/create-look-graph.js";
import { DIALECTS, type Dialect } from "./support/internals.js";
import { OVERFLOW_REFUSALS } from "./support/overflow-refusals.js";
import { REFUSED_HISTORIES } from "./support/refused-histories.js";
import { user } from "./support/thread.js";
import { TROUBLES } from "./support/troubled-runs.js";
import { typeErrorsOf } from "./support/type-errors.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
/** Inside the repository, so that the examples find the packages. */
const directory = mkdtempSync(join(ROOT, "test/.documents-"));
afterAll(() => rmSync(directory, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

const DOCUMENTS: { readonly [path: string]: number } = {
  "README.md": 2,
  "docs/agents-as-tools.md": 1,
  "docs/approvals.md": 1,
  "docs/long-threads.md": 1,
  "docs/middleware.md": 8,
  "docs/providers.md": 3,
  "docs/serving.md": 3,
  "docs/state-and-context.md": 1,
  "docs/structured-output.md": 1,
  "docs/testing.md": 3,
  "docs/troubleshooting.md": 2,
  "docs/existing-agents.md": 4,
};

/** The lines of `docs/existing-agents.md` that close calls under agents of LangChain. */
const CLOSING_LINES = [
  ["createAgent", "  middleware: [tetherMiddleware()],\n"],
  [
    "createReactAgent",
    "  preModelHook: (state) => ({ llmInputMessages: toModelInput(state.messages, { model }) }),\n",
  ],
] as const;

/** Errors that begin in a framework, and have no provider's words. */
const FRAMEWORKS = [
  "Found AIMessages with tool_calls that do not have a corresponding ToolMessage",
  "AI_MissingToolResultsError",
  "INVALID_CHAT_HISTORY",
  "INVALID_TOOL_RESULTS",
  "tool_call_id is not found",
  "Message not found",
  "Thread is already running a task",
  "you must specify the interrupt id when resuming",
];

type Place = "type" | "threadId" | "runId" | "checkpointId";
type FieldsOf<Type> = Record<Exclude<keyof Extract<library.AgentEvent, { type: Type }>, Place>, true>;

const EVENT_FIELDS: { readonly [Type in library.AgentEvent["type"]]: FieldsOf<Type> } = {
  "result-recovered": { tool: true, callId: true },
  "result-late": { tool: true, callId: true, message: true },
  "response-recovered": { messageId: true },
  "call-closed": { tool: true, callId: true, cause: true },
  "model-retry": { attempt: true, maxAttempts: true, reason: true },
  "response-broken": { reason: true },
  "response-withheld": { reason: true, category: true },
  "limit-near": { limit: true, used: true, max: true },
  "model-switched": { from: true, to: true, reason: true },
  "limit-reached": { limit: true },
  "structured-response-refused": { reason: true },
  "structured-response-missing": { reason: true },
  "summary-made": { covered: true, tokensSaved: true },
  "summary-failed": { reason: true, retryAfterTurns: true },
  "input-reduced": { rung: true, reason: true, messageIds: true, leftOut: true, maxTokens: true },
  "result-refused": { tool: true, callId: true },
  "result-dropped": { callId: true, message: true },
  "role-changed": { messageId: true },
  "message-steered": { messageId: true, key: true },
  "steering-refused": { key: true, reason: true },
  "inbox-failed": { reason: true },
  "api-switched": { api: true, reason: true },
  "memory-missing": { remedy: true },
  "run-end": {
    outcome: true,
    calls: true,
    results: true,
    usedFallback: true,
    durationMs: true,
    usage: true,
  },
};

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface Example {
  readonly path: string;
  readonly code: string;
}

const examplesIn = (path: string, fence: RegExp): Example[] =>
  [...read(path).matchAll(fence)].map((match) => ({ path, code: match[1] ?? "" }));

const ofDocuments = Object.keys(DOCUMENTS).flatMap((path) => examplesIn(path, /```ts run\n([\s\S]*?)```/g));

const exported = ["src/index.ts", "src/langchain.ts", "src/doctor.ts", "src/inspector.ts"].flatMap((entry) =>
  readExports(join(ROOT, entry)),
);

const ofExports = exported.flatMap(({ name, declaration }) =>
  ts
    .getJSDocTags(declaration)
    .filter(({ tagName }) => tagName.text === "example")
    .map(({ comment }) => {
      const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(ts.getTextOfJSDocComment(comment) ?? "") ?? [];
      return { path: name, code };
    }),
);

const examples = [...ofDocuments, ...ofExports].map((example, index) => ({ ...example, index: index + 1 }));

/** As the comments of the examples write it. */
function asShown(value: unknown): string {
  return Array.isArray(value) ? `[ ${value.map((item) => `'${item}'`).join(", ")} ]` : String(value);
}

function write(name: string, code: string): string {
  const file = join(directory, `${name}.ts`);
  writeFileSync(file, code);
  return file;
}

/** The part of OpenTelemetry's API that the lines use. */
const otel = write(
  "otel",
  `import { AsyncLocalStorage } from "node:async_hooks";
  export type AttributeValue = string | number | boolean | string[];
  type Attributes = Record<string, unknown>;
  interface Span { name: string; isEnded: boolean; events: Attributes[]; addEvent(name: string, attributes: Attributes): void; end(): void }
  export const spans: Span[] = [];
  const active = new AsyncLocalStorage<Span>();
  function startActiveSpan<Value>(name: string, work: (span: Span) => Value): Value {
    const span: Span = {
      name,
      isEnded: false,
      events: [],
      addEvent: (event, attributes) => void span.events.push({ name: event, ...attributes }),
      end: () => void (span.isEnded = true),
    };
    spans.push(span);
    return active.run(span, () => work(span));
  }
  export const trace = { getActiveSpan: () => active.getStore(), getTracer: (_name: string) => ({ startActiveSpan }) };`,
);
const [lines] = examplesIn("docs/production.md", /```ts\n(import \{ subscribe[\s\S]*?)```/g);
const copied = write("spans", lines?.code.replace('"@opentelemetry/api"', '"./otel.js"') ?? "");

describe("The examples", () => {
  it.each(Object.entries(DOCUMENTS))("of %s are %i", (path, count) => {
    expect(ofDocuments.filter((example) => example.path === path)).toHaveLength(count);
  });

  it.each(examples)("of $path print what they say ($index)", async ({ code, index }) => {
    const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1]);
    const print = vi.spyOn(console, "log").mockImplementation(() => {});
    await import(/* @vite-ignore */ write(`run-${index}`, code));
    expect(print.mock.calls.map((values) => values.map(asShown).join(" "))).toEqual(expected);
    expect(expected).not.toEqual([]);
  });

  it("compile under `strict`", () => {
    const files = examples.map(({ path, code, index }) =>
      write(`${path.replaceAll(/\W/g, "-")}-${index}`, code),
    );
    expect(typeErrorsOf([...files, copied])).toEqual([]);
  }, 600_000);

  it.each(ofExports)("of the export $path import this package", ({ code }) => {
    expect(code).toMatch(/from "langgraph-tether(?:\/history|\/langchain|\/doctor|\/inspector)?";/);
  });

  /** The example of `TetherError` is also the example of its subclasses. */
  const needsExample = ({ name, declaration }: Exported) =>
    ts.isFunctionDeclaration(declaration) ||
    (ts.isClassDeclaration(declaration) &&
      Object.hasOwn(library, name) &&
      !declaration.heritageClauses?.some((clause) => clause.getText() === "extends TetherError"));

  it("are there for every exported function and class", () => {
    const names = exported.filter(needsExample).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["repairHistory", "createModel", "MiddlewareTermination"]));
    const shown = new Set(ofExports.map(({ path }) => path));
    expect(names.filter((name) => !shown.has(name))).toEqual([]);
  });
});

describe("the README", () => {
  it("leads to the other documents", () => {
    const readme = read("README.md");
    const pages = readdirSync(join(ROOT, "docs")).filter((name) => /^(?!README).*\.md$/.test(name));
    expect(pages.filter((name) => !readme.includes(`(docs/${name})`))).toEqual([]);
    const index = read("docs/README.md");
    expect(pages.filter((name) => !index.includes(`(${name})`))).toEqual([]);
  });
});

const PAGES = [
  ...["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "server/README.md"],
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** Code is not read for links and headings. */
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, "");

function linksOf(path: string): string[] {
  const links = withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g);
  return [...links].map((match) => match[1] ?? "").filter((link) => !/^https?:/.test(link));
}

/** The anchors that GitHub gives to headings; it numbers those that would be the same. */
function anchorsOf(path: string): string[] {
  const headings = [...withoutCode(read(path)).matchAll(/^#{1,6} (.+)$/gm)];
  const anchors = headings.map((match) =>
    (match[1] ?? "")
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return anchors.map((anchor, index) => {
    const earlier = anchors.slice(0, index).filter((other) => other === anchor).length;
    return earlier === 0 ? anchor : `${anchor}-${earlier}`;
  });
}

function leadsSomewhere(page: string, link: string): boolean {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), file));
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}

describe("The links", () => {
  it.each(PAGES)("of %s lead somewhere", (page) => {
    expect(linksOf(page).filter((link) => !leadsSomewhere(page, link))).toEqual([]);
  });

  it("are found", () => {
    expect(linksOf("README.md").length).toBeGreaterThan(8);
    expect(anchorsOf("docs/troubleshooting.md")).toContain("maximum-recursion-depth-50-exceeded");
  });
});

describe("docs/serving.md", () => {
  it.each(Object.entries(EVENT_FIELDS))("has a row for the event %s with its fields", (type, fields) => {
    const row = read("docs/serving.md").match(new RegExp(`^\\| \`${type}\` .*$`, "m"))?.[0];
    for (const field of Object.keys(fields)) expect(row).toContain(`\`${field}\``);
  });
});

describe("docs/production.md", () => {
  it("has lines that make spans of calls, and events of what goes wrong", async () => {
    const { spans: made, trace } = await import(/* @vite-ignore */ otel);
    const { spans: middleware } = await import(/* @vite-ignore */ copied);
    await trace.getTracer("test").startActiveSpan("request", async () => {
      const agent = library.createAgentGraph({ model: "offline:", tools: [look], middleware });
      await agent.invoke(user('call look {"at": "a", "tokens": 1}'));
      await TROUBLES.refusal();
      await TROUBLES.cancelled();
    });
    const [request, ...calls] = made;
    expect(calls).toMatchObject(
      ["model call", "tool look", "model call"].map((name) => ({ name, isEnded: true })),
    );
    const named = (name: string, fields: object) => ({ name: `langgraph_tether.${name}`, ...fields });
    const ends = named("run-end", { outcome: "done" });
    expect(request.events).toEqual([
      ends,
      named("refusal", { kind: "rule", dialect: "strict", rule: "alternation" }),
      named("input-reduced", { rung: "strict" }),
      ends,
      named("run-end", { outcome: "cancelled" }),
      named("call-closed", { tool: "deaf", callId: expect.any(String), cause: "superseded" }),
      named("result-recovered", { tool: "fast", callId: expect.any(String) }),
      ends,
    ]);
  });
});

describe("docs/providers.md", () => {
  it.each(Object.entries(MODEL_SOURCES))("has a row for the provider %s", (name, provider) => {
    const page = read("docs/providers.md");
    const row = page.match(new RegExp(`^\\| \`${name}:…?\` .*$`, "m"))?.[0];
    for (const variable of [...(provider.keys ?? []), provider.baseURL ?? name])
      expect(row).toContain(variable);
    if (provider.install !== undefined) expect(page).toContain(`\`${provider.install}\``);
  });
});

describe("docs/troubleshooting.md", () => {
  /** Each key is a code: the compiler asks for those that are added. */
  const CODES: Readonly<Record<library.TetherErrorCode, true>> = {
    INVALID_SETTING: true,
    INVALID_TOOL: true,
    INVALID_MODEL: true,
    INVALID_MESSAGE: true,
    INVALID_STATE: true,
    INVALID_COMMAND: true,
    MIDDLEWARE_MISUSED: true,
    MODEL_FAILED: true,
    RESPONSE_NOT_IN_FORMAT: true,
    THREAD_BUSY: true,
    THREAD_MOVED: true,
  };

  it("has each code of an error", () => {
    const codes = page.slice(page.indexOf("## Every code of an error"));
    expect(Object.keys(CODES).filter((code) => !codes.includes(`\`${code}\``))).toEqual([]);
  });

  const page = read("docs/troubleshooting.md");
  /** As somebody searches for it, to whom numbers and ids say nothing. */
  const bare = (text: string) =>
    text.replaceAll(/[`\s]+/g, " ").replaceAll(/\{\w+\}|\b(?:c|abcDEF|call_|rs_)?\d+\b/g, "…");
  const ruled = Object.values<Dialect>(DIALECTS).flatMap(({ rules }) => Object.values(rules));

  it.each([
    ["the rules", ruled.filter(({ grade }) => grade !== "inferred").map(({ text }) => text)],
    ["further hosts", refusals().map(({ text }) => text)],
    ["reported histories", REFUSED_HISTORIES.map(({ refusal }) => refusal)],
    [
      "requests that are too long",
      Object.values(OVERFLOW_REFUSALS).map(({ message }) => message(100_001, 100_000)),
    ],
    ["frameworks", FRAMEWORKS],
  ])("has each text of %s", (_, texts) => {
    expect(texts.filter((text) => !bare(page).includes(bare(text)))).toEqual([]);
    expect(texts.length).toBeGreaterThan(7);
  });
});

describe("docs/existing-agents.md", () => {
  it.each(CLOSING_LINES)(
    "shows a line for %s without which the provider refuses the thread",
    async (name, line) => {
      const example = ofDocuments.find(({ code }) => code.includes(`= ${name}({`) && code.includes(line));
      const file = write(`without-line-${name}`, example?.code.replace(line, "") ?? "");
      await expect(import(/* @vite-ignore */ file)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(
          /^An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'/,
        ),
      });
    },
  );
});
