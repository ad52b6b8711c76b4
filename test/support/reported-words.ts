/** What providers have said, as the comments and the rules of the providers' rooms quote it, and ways to quote a user. */

import { readdirSync, readFileSync } from "node:fs";
import type { Dialect } from "../../src/providers/contract/dialect.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { OVERFLOW_REFUSALS } from "./overflow-refusals.js";

const ROOMS = new URL("../../src/providers/", import.meta.url);

/** The texts in double quotes of all comments. A comment can break a text into lines. */
function wordsInComments(): string[] {
  const files = readdirSync(ROOMS, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.ts$/.test(file),
  );
  return files.flatMap((file) => {
    const source = readFileSync(new URL(file, ROOMS), "utf8");
    const comments = source.match(/(?:^ *\/\/.*\n)+/gm) ?? [];
    return comments.flatMap((comment) => {
      const text = comment.replaceAll(/^ *\/\/ ?/gm, "").replaceAll(/\s+/g, " ");
      return [...text.matchAll(/"([^"]{12,400})"/g)].map(([, words = ""]) => words);
    });
  });
}

const rules = Object.values<Dialect>(DIALECTS).flatMap((dialect) =>
  Object.values(dialect.rules).map(({ text }) => text.replaceAll(/\{\w+\}/g, "x")),
);

/** No window of these is as small as the threads of tests. */
const overflows = Object.values(OVERFLOW_REFUSALS).map(({ message }) => message(150_000, 128_000));

export const REPORTED_WORDS: readonly string[] = [...new Set([...wordsInComments(), ...rules, ...overflows])];

/** What a user can write so that it looks like a provider's words. */
export const FORGED_WORDS: readonly string[] = [
  ...Object.values(OVERFLOW_REFUSALS).map(({ message }) => message(300_000, 60)),
  OVERFLOW_REFUSALS.anthropic.message(70, 60),
  "At most 0 image(s) may be provided in one request.",
  "Too much media: 0 document pages + 103 images > 0",
  "Invalid 'messages': array too long. Expected an array with maximum length 1",
  "unsupported image",
  '{"error":{"message":"prompt is too long: 3000 tokens > 2500 maximum"}}',
  "prompt is t\\u006fo long: 3000 tokens > 2500 maximum",
  "Request too large on tokens per minute (TPM), a rate limit",
  "context_length_exceeded",
];

const python = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** Errors that quote a user's text. */
export const QUOTATIONS: Readonly<Record<string, (text: string) => object>> = {
  "a printed object": (text) => ({
    object: "error",
    message: `[{'type': 'string_type', 'loc': ('body', 'messages', 0, 'content'), 'msg': 'Input should be a valid string', 'input': ${python(text)}}]`,
  }),
  "a value that is named": (text) =>
    openAI(
      `1 validation error for Request\nmessages.0.content\n  Input should be valid [type=x, input_value=${python(text)}, input_type=str]`,
    ),
  "a field of its own": (text) => ({
    detail: [{ type: "x", loc: ["body", "messages", 0], msg: "Input should be valid", input: text }],
  }),
  "an object of its own": (text) => ({
    detail: [
      { type: "x", loc: ["body"], msg: "Bad value", input: { role: "user", content: text, message: text } },
    ],
  }),
  "quotation marks": (text) => openAI(`Invalid content: "${text}" cannot be read`),
  "nothing at all": (text) => openAI(`Cannot read the message ${text}`),
  "nothing after a colon": (text) => openAI(`Invalid value: ${text}`),
  "a text whose marks are decoded": (text) =>
    openAI(
      `Cannot read ${text.replaceAll(/\\u([\da-f]{4})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))}`,
    ),
  "a text whose marks are escaped": (text) =>
    openAI(
      `<pre>Cannot read ${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("'", "&#39;")}</pre>`,
    ),
  "JSON in a text": (text) =>
    openAI(`Upstream said no to ${JSON.stringify({ messages: [{ content: text }] })}`),
};

function openAI(message: string): object {
  return { type: "error", error: { message, type: "invalid_request_error", param: null, code: null } };
}

/** The forms in which providers say something. */
export const SAID: Readonly<Record<string, (words: string) => object>> = {
  openai: openAI,
  message: (message) => ({ object: "error", message }),
  detail: (detail) => ({ detail }),
  gemini: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  OpenRouter: (message) => ({
    error: {
      code: 400,
      message: "Provider returned error",
      metadata: { raw: JSON.stringify(openAI(message)), provider_name: "x" },
    },
  }),
  "a printed object": (message) => openAI(`Error code: 400 - {'error': {'message': ${python(message)}}}`),
  "a gateway": (message) => openAI(`litellm.BadRequestError: Exception - ${JSON.stringify(openAI(message))}`),
};
