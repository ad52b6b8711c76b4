/** Images and files in every form that a program can write, over HTTP, through the real clients. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, type DialectName, toModelInput, validateHistory } from "../../src/index.js";
import { anthropicAt, clientOf, openAIAt, PROVIDERS } from "../support/clients.js";
import {
  ANSWER,
  type ProviderName,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";

const strict = stopAtEnd(await startStrictProvider());
const PICTURE = "cGljdHVyZQ==";
const PDF = "cGRm";
const PDF_URL = `data:application/pdf;base64,${PDF}`;
const DATA_URL = `data:image/png;base64,${PICTURE}`;
const CAPTION = { type: "text", text: "What is this?" };
const shown = (block: object): HumanMessage => new HumanMessage({ content: [CAPTION, block] as never });

const image = { mimeType: "image/png", data: PICTURE };
const base64 = (media_type: string, data: string) => ({ type: "base64", media_type, data });

/** An image, in LangChain's form and in the form of each provider. */
const PICTURES: Readonly<Record<string, HumanMessage>> = {
  "LangChain's standard form": shown({ type: "image", ...image }),
  "the standard form in bytes": shown({
    type: "image",
    ...image,
    data: new Uint8Array(Buffer.from(PICTURE, "base64")),
  }),
  "`contentBlocks`": new HumanMessage({ contentBlocks: [CAPTION, { type: "image", ...image }] as never }),
  "LangChain's older form": shown({
    type: "image",
    source_type: "base64",
    mime_type: "image/png",
    data: PICTURE,
  }),
  "OpenAI's": shown({ type: "image_url", image_url: { url: DATA_URL } }),
  "OpenAI's, with a bare URL": shown({ type: "image_url", image_url: DATA_URL }),
  "the Responses API's": shown({ type: "input_image", image_url: DATA_URL }),
  "Anthropic's": shown({ type: "image", source: base64("image/png", PICTURE) }),
  "Gemini's": shown({ type: "media", ...image }),
  "Gemini's own": shown({ type: "inlineData", inlineData: image }),
};

const chatPicture = { type: "image_url", image_url: { url: DATA_URL } };
/** The description of a picture or a file, with its type and size. */
const WORDS = /\[(image|input_image|image_url|inlineData|media|file|document): [^\]"]+ bytes\]/;

/** The form in which each provider gets the image. The request contains nothing else of it. */
const SENT_PICTURES: Readonly<Record<ProviderName, object>> = {
  openai: chatPicture,
  dashscope: chatPicture,
  // Its API takes the address as a text too.
  mistral: { type: "image_url" },
  "openai-responses": { type: "input_image", image_url: DATA_URL },
  anthropic: { type: "image", source: base64("image/png", PICTURE) },
  gemini: { inlineData: image },
  deepseek: WORDS,
  "dashscope-native": WORDS,
};

async function send(provider: ProviderName, dialect: DialectName, message: BaseMessage): Promise<string> {
  const input = toModelInput([message], { dialect });
  expect(validateHistory(input, dialect)).toEqual([]);
  expect((await (await clientOf(provider, strict)).invoke(input)).text).toBe(ANSWER);
  return JSON.stringify(strict.lastRequest());
}

/** Finds the fields anywhere, because a client can add fields and change their order. */
function findPart(value: unknown, wanted: object): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const isWanted = Object.keys(wanted).every((name) => Object.hasOwn(value, name));
  if (isWanted && expect.objectContaining(wanted).asymmetricMatch(value)) return value;
  return Object.values(value)
    .map((inner) => findPart(inner, wanted))
    .find((found) => found !== undefined);
}

function expectSent(request: string, wanted: object, payload: string): void {
  if (wanted instanceof RegExp) {
    expect(request).toMatch(wanted);
    expect(request).not.toContain(payload);
    return;
  }
  expect(findPart(JSON.parse(request), wanted), request).toMatchObject(wanted);
  expect(request.split(payload)).toHaveLength(2);
}

describe.each(Object.entries(PICTURES))("An image in %s", (_, message) => {
  it.each(PROVIDERS)("reaches %s", async (provider) => {
    expectSent(await send(provider, provider, message), SENT_PICTURES[provider], PICTURE);
  });

  it.each(PROVIDERS.filter((name) => SENT_PICTURES[name] !== WORDS))(
    "reaches %s from a strict input",
    async (provider) => {
      expectSent(await send(provider, "strict", message), SENT_PICTURES[provider], PICTURE);
    },
  );
});

const PDFS: Readonly<Record<string, HumanMessage>> = {
  "LangChain's standard form": shown({ type: "file", mimeType: "application/pdf", data: PDF }),
  "OpenAI's": shown({ type: "file", file: { filename: "a.pdf", file_data: PDF_URL } }),
  "Anthropic's": shown({ type: "document", source: base64("application/pdf", PDF) }),
  "Gemini's": shown({ type: "media", mimeType: "application/pdf", data: PDF }),
};

const SENT_PDFS: Readonly<Record<ProviderName, object>> = {
  openai: { type: "file" },
  "openai-responses": { type: "input_file", file_data: PDF_URL },
  anthropic: { type: "document", source: base64("application/pdf", PDF) },
  gemini: { inlineData: { mimeType: "application/pdf", data: PDF } },
  dashscope: { type: "file" },
  mistral: WORDS,
  deepseek: WORDS,
  "dashscope-native": WORDS,
};

describe.each(Object.entries(PDFS))("A PDF in %s", (_, message) => {
  it.each(PROVIDERS)("reaches %s, or is replaced by a text description", async (provider) => {
    expectSent(await send(provider, provider, message), SENT_PDFS[provider], PDF);
  });
});

it.each(PROVIDERS)("Plain text in a file is text for %s.", async (provider) => {
  const text = "the words of the file";
  const standard = { type: "file", mimeType: "text/plain", data: Buffer.from(text).toString("base64") };
  const anthropic = { type: "document", source: { type: "text", media_type: "text/plain", data: text } };
  for (const block of [standard, anthropic])
    expect(await send(provider, provider, shown(block))).toContain(text);
});

it("A provider gets media in its own form unchanged.", () => {
  const rows = {
    openai: { type: "image_url", image_url: { url: DATA_URL, detail: "low" } },
    anthropic: {
      type: "image",
      source: { type: "url", url: "https://x/y" },
      cache_control: { type: "ephemeral" },
    },
    gemini: { type: "media", mimeType: "video/mp4", fileUri: "gs://film" },
    "openai-responses": { type: "input_file", file_id: "file_1" },
  } as const satisfies Partial<Record<ProviderName, object>>;
  for (const [dialect, block] of Object.entries(rows)) {
    const message = shown(block);
    expect(toModelInput([message], { dialect: dialect as ProviderName })).toEqual([message]);
  }
});

it("An image stored by Anthropic is sent by its id.", async () => {
  const stored = { type: "image", source: { type: "file", file_id: "file_1" } };
  for (const block of [stored, { type: "image", fileId: "file_1" }])
    expectSent(await send("anthropic", "anthropic", shown(block)), stored, "file_1");
});

// The marks of Anthropic's prompt cache, over HTTP through LangChain's client.

const MARK = { cache_control: { type: "ephemeral" } };
const look = (name: string, schema = z.object({ place: z.string() }), extras = {}) =>
  tool(() => "Seen.", { name, description: "Looks.", schema, extras });

async function ask(options: Partial<Parameters<typeof createAgentGraph>[0]>): Promise<unknown> {
  const graph = createAgentGraph({
    model: anthropicAt(strict.url("anthropic")),
    tools: [look("first"), look("last")],
    systemPrompt: "Be brief.",
    checkpointer: new MemorySaver(),
    ...options,
  });
  await graph.invoke(user("Hello"), inThread("prompt-cache"));
  return strict.lastRequest();
}

describe("promptCache: auto", () => {
  it("marks the last tool, the system prompt and the last message", async () => {
    expect(await ask({})).toMatchObject({
      ...MARK,
      system: [{ type: "text", text: "Be brief.", ...MARK }],
      tools: [expect.not.objectContaining(MARK), expect.objectContaining({ name: "last", ...MARK })],
    });
  });

  it("changes nothing else of the request", async () => {
    const marked = JSON.stringify(await ask({}));
    const plain = JSON.stringify(await ask({ promptCache: "off" }));
    const system = JSON.stringify([{ type: "text", text: "Be brief." }]);
    const unmarked = marked.replaceAll(/,"cache_control":\{"type":"ephemeral"\}/g, "");
    expect(unmarked.replace(system, '"Be brief."')).toBe(plain);
  });

  it("marks nothing for another provider", async () => {
    const model = openAIAt(`${strict.url("openai")}/v1`, { model: "gpt-4.1-mini" });
    expect(JSON.stringify(await ask({ model }))).not.toContain("cache_control");
  });
});

it("marks nothing beside the marks of a user, because a request takes four", async () => {
  const marked = look("marked", z.object({}) as never, MARK);
  const sent = JSON.stringify(await ask({ tools: [look("first"), marked] }));
  expect(sent.match(/cache_control/g)).toHaveLength(1);
});
