/** Pictures, files and links in results, over HTTP through the real clients. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { isUserMessage } from "../../src/history/summary.js";
import { explainInput, toModelInput, validateHistory } from "../../src/index.js";
import type { DialectName } from "../../src/providers/dialects.js";
import { clientOf, PROVIDERS } from "../support/clients.js";
import {
  ANSWER,
  type ProviderName,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());
const DATA = "cGljdHVyZQ==";
const DATA_URL = `data:image/png;base64,${DATA}`;

const calls = (...ids: readonly string[]) =>
  new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "photo", args: {} })) });
const result = (id: string, ...content: readonly object[]) =>
  new ToolMessage({ tool_call_id: id, name: "photo", content: content as never });
const text = { type: "text", text: "The camera shows:" };
const user = new HumanMessage("Look.");

async function send(
  provider: ProviderName,
  history: readonly BaseMessage[],
  dialect: DialectName = provider,
) {
  const input = toModelInput(history, { dialect });
  expect(validateHistory(input, dialect)).toEqual([]);
  expect((await (await clientOf(provider, strict)).invoke(input)).text).toBe(ANSWER);
  return { input, request: JSON.stringify(strict.lastRequest()) };
}

const PICTURES = {
  "LangChain's standard form": { type: "image", mimeType: "image/png", data: DATA },
  "OpenAI's form": { type: "image_url", image_url: { url: DATA_URL } },
  "the Responses API's form": { type: "input_image", image_url: DATA_URL, detail: "auto" },
  "Anthropic's form": { type: "image", source: { type: "base64", media_type: "image/png", data: DATA } },
  "a resource of an MCP server": {
    type: "resource",
    resource: { uri: "demo://a", mimeType: "image/png", blob: DATA },
  },
} as const;

/** Providers whose models see nothing. */
const BLIND: ReadonlySet<ProviderName> = new Set<ProviderName>(["deepseek", "dashscope-native"]);
/** Providers that take pictures in results. */
const IN_RESULTS: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai-responses"]);

describe.each(Object.entries(PICTURES))("A picture in a result, in %s,", (_, picture) => {
  it.each(PROVIDERS)("is seen once by %s, or described.", async (provider) => {
    for (const dialect of [
      provider,
      ...(IN_RESULTS.has(provider) || BLIND.has(provider) ? [] : (["strict"] as const)),
    ]) {
      const { request } = await send(
        provider,
        [user, calls("aaaaaaaa1"), result("aaaaaaaa1", text, picture)],
        dialect,
      );
      if (!BLIND.has(provider)) expect(request.split(DATA)).toHaveLength(2);
      else {
        expect(request).not.toContain(DATA);
        expect(request).toMatch(/\[(image|image_url|input_image|resource): [^\]]*bytes\]/);
      }
    }
  });
});

const inChat = [user, calls("a", "b"), result("a", text, PICTURES["OpenAI's form"]), result("b", text)];

describe("The message with the pictures of a batch", () => {
  it("follows all its results, and names the tool and the call.", () => {
    const input = toModelInput(inChat, { dialect: "openai" });
    expect(input.map(({ type }) => type)).toEqual(["human", "ai", "tool", "tool", "human"]);
    expect(JSON.stringify(input[4]?.content)).toContain("From the result of the call a of the tool photo:");
    expect(input[2]?.text).toContain("shown in the message after the results");
    expect(input[4] && isUserMessage(input[4])).toBe(false);
  });

  it("stays at its place when the thread goes on.", () => {
    const before = toModelInput(inChat, { dialect: "openai" });
    const more = [...inChat, new AIMessage("A cat."), new HumanMessage("And now?")];
    const after = toModelInput(more, { dialect: "openai" });
    expect(JSON.stringify(after.slice(0, before.length))).toBe(JSON.stringify(before));
    expect(
      toModelInput([...inChat, new HumanMessage("Stop.")], { dialect: "openai" }).map(({ type }) => type),
    ).toEqual(["human", "ai", "tool", "tool", "human", "human"]);
  });

  it("is bridged where no user message may follow a result.", () => {
    const input = toModelInput(inChat, { dialect: "mistral" });
    expect(input.map(({ type }) => type)).toEqual(["human", "ai", "tool", "tool", "ai", "human"]);
  });

  it("is explained.", () => {
    const { added } = explainInput(inChat, { dialect: "openai" });
    expect(added.map(({ reasons }) => reasons.map(({ code }) => code))).toEqual([["result-media"]]);
  });

  it("goes with its results if a window has no room.", () => {
    const long = new AIMessage("x".repeat(3000));
    const history = [
      ...inChat,
      long,
      new HumanMessage("Go on."),
      new AIMessage("Yes."),
      new HumanMessage("So?"),
    ];
    for (const maxTokens of [40, 120, 400, 900]) {
      const input = toModelInput(history, { dialect: "openai", maxTokens });
      expect(validateHistory(input, "openai")).toEqual([]);
      const media = input.findIndex(
        ({ additional_kwargs }) => additional_kwargs["tether_result_media"] === true,
      );
      if (media >= 0) expect(input[media - 1]?.type).toBe("tool");
    }
  });

  it("does not change the history.", () => {
    const history = JSON.stringify(inChat);
    toModelInput(inChat, { dialect: "openai" });
    expect(JSON.stringify(inChat)).toBe(history);
  });
});

describe.each([
  ["a link", { type: "resource_link", uri: "demo://r/1", name: "r.txt" }, "demo://r/1", "r.txt"],
  [
    "a file with an address that no provider opens",
    { type: "file", url: "demo://r/1", metadata: { name: "r.txt" } },
    "demo://r/1",
    "r.txt",
  ],
  [
    "a picture in a store",
    { type: "image_url", image_url: { url: "s3://bucket/a.png" } },
    "s3://bucket/a.png",
    "s3",
  ],
  [
    "a resource with a text",
    { type: "resource", resource: { uri: "demo://r/2", text: "The words." } },
    "demo://r/2",
    "The words.",
  ],
  ["a reference to a tool", { type: "tool_reference", tool_name: "find" }, "tool_reference", "find"],
])("Of %s in a result or of a user", (_, block, address, name) => {
  it.each(PROVIDERS)("%s gets the name and the address.", async (provider) => {
    const { request } = await send(provider, [user, calls("aaaaaaaa1"), result("aaaaaaaa1", text, block)]);
    for (const part of [address, name]) expect(request).toContain(part);
    const asked = await send(provider, [new HumanMessage({ content: [text, block] as never })]);
    for (const part of [address, name]) expect(asked.request).toContain(part);
  });
});
