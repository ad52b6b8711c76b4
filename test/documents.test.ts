/** The examples of the documents run, and print what they say. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { refusals } from "../scripts/write-settings-table/refusals.js";
import type { AgentEvent, TetherErrorCode } from "../src/index.js";
import { DIALECTS } from "../src/providers/dialects.js";
import { MODEL_SOURCES } from "../src/providers/models/create-model.js";
import type { Dialect } from "../src/providers/rule.js";
import { OVERFLOW_REFUSALS } from "./support/overflow-refusals.js";
import { REFUSED_HISTORIES } from "./support/refused-histories.js";
import { typeErrorsOf } from "./support/type-errors.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
/** Inside the repository, so that the examples find the packages. */
const directory = mkdtempSync(join(ROOT, "test/.documents-"));
afterAll(() => rmSync(directory, { recursive: true }));

const DOCUMENTS = [
  { path: "README.md", count: 2 },
  { path: "docs/agents-as-tools.md", count: 1 },
  { path: "docs/approvals.md", count: 2 },
  { path: "docs/long-threads.md", count: 2 },
  { path: "docs/middleware.md", count: 14 },
  { path: "docs/providers.md", count: 2 },
  { path: "docs/serving.md", count: 4 },
  { path: "docs/state-and-context.md", count: 1 },
  { path: "docs/structured-output.md", count: 1 },
  { path: "docs/troubleshooting.md", count: 9 },
  { path: "docs/existing-agents.md", count: 5 },
] as const;

/** The lines of `docs/existing-agents.md` that close calls under agents of LangChain. */
const CLOSING_LINES = [
  ["createAgent", "  middleware: [tetherMiddleware()],\n"],
  [
    "createReactAgent",
    "  preModelHook: (state) => ({ llmInputMessages: repairHistory(state.messages).messages }),\n",
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

type FieldsOf<Type> = Record<Exclude<keyof Extract<AgentEvent, { type: Type }>, "type">, true>;

const EVENT_FIELDS: { readonly [Type in AgentEvent["type"]]: FieldsOf<Type> } = {
  "result-recovered": { tool: true, callId: true },
  "result-late": { tool: true, callId: true, threadId: true, message: true },
  "response-recovered": { messageId: true },
  "call-closed": { tool: true, callId: true, cause: true },
  "model-retry": { attempt: true, maxAttempts: true, reason: true },
  "answer-broken": { reason: true },
  "limit-near": { limit: true, used: true, max: true },
  "model-switched": { from: true, to: true, reason: true },
  "limit-reached": { limit: true },
  "structured-response-refused": { reason: true },
  "structured-response-missing": { reason: true },
  "summary-made": { covered: true, tokensSaved: true },
  "summary-failed": { reason: true, retryAfterTurns: true },
  "input-shortened": { reason: true, maxTokens: true, shortened: true, leftOut: true },
  "dialect-changed": { from: true, to: true, reason: true },
  "result-refused": { tool: true, callId: true },
  "result-dropped": { callId: true, message: true },
  "message-refused": { messageId: true },
  "role-changed": { messageId: true },
  "message-steered": { messageId: true, key: true },
  "steering-refused": { key: true, reason: true },
  "inbox-failed": { reason: true },
  "mcp-server-failed": { server: true, reason: true },
  "memory-missing": { remedy: true },
  "run-end": { calls: true, results: true, usedFallback: true, usage: true },
};

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const documents = DOCUMENTS.map(({ path, count }) => {
  const examples = [...read(path).matchAll(/```ts run\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  return { path, count, examples };
});

describe.each(documents)("$path", ({ path, count, examples }) => {
  const print = vi.spyOn(console, "log").mockImplementation(() => {});
  beforeEach(() => print.mockClear());

  it("has its examples", () => {
    expect(examples).toHaveLength(count);
  });

  it.each(examples.map((code, index) => [index, code] as const))(
    "prints what its example %i says",
    async (index, code) => {
      const expected = [...code.matchAll(/console\.log\(.*\/\/ (.*)/g)].map((match) => match[1]);
      const file = join(directory, `${path.replaceAll(/\W/g, "-")}-${index}.ts`);
      writeFileSync(file, code);
      await import(/* @vite-ignore */ file);
      const printed = print.mock.calls.map((line) => line.map(format).join(" "));
      expect(printed).toEqual(expected);
      expect(expected.length).toBeGreaterThan(0);
    },
  );
});

it("the examples compile under `strict`", () => {
  const examplesOf = documents.flatMap(({ path, examples }) =>
    examples.map((code, index) => ({ path, code, index })),
  );
  const files = examplesOf.map(({ path, code, index }) => {
    const file = join(directory, `compiled-${path.replaceAll(/\W/g, "-")}-${index}.ts`);
    writeFileSync(file, code);
    return file;
  });
  expect(typeErrorsOf(files)).toEqual([]);
}, 600_000);

describe("the README", () => {
  it("leads to the other documents", () => {
    const readme = read("README.md");
    const pages = readdirSync(join(ROOT, "docs")).filter((name) => /^(?!README).*\.md$/.test(name));
    expect(pages.filter((name) => !readme.includes(`(docs/${name})`))).toEqual([]);
    const index = read("docs/README.md");
    expect(pages.filter((name) => !index.includes(`(${name})`))).toEqual([]);
  });
});

describe("docs/serving.md", () => {
  it.each(Object.entries(EVENT_FIELDS))("has a row for the event %s with its fields", (type, fields) => {
    const row = read("docs/serving.md").match(new RegExp(`^\\| \`${type}\` .*$`, "m"))?.[0];
    for (const field of Object.keys(fields)) expect(row).toContain(`\`${field}\``);
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
  const CODES: Readonly<Record<TetherErrorCode, true>> = {
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
  const { examples } = documents.find(({ path }) => path === "docs/existing-agents.md") ?? {};

  it.each(CLOSING_LINES)(
    "shows a line for %s without which the provider refuses the thread",
    async (name, line) => {
      const example = examples?.find((code) => code.includes(`= ${name}({`) && code.includes(line));
      const file = join(directory, `without-line-${name}.ts`);
      writeFileSync(file, example?.replace(line, "") ?? "");
      await expect(import(/* @vite-ignore */ file)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(
          /^An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'/,
        ),
      });
    },
  );
});

function format(value: unknown): string {
  return Array.isArray(value) ? `[ ${value.map((item) => `'${item}'`).join(", ")} ]` : String(value);
}
