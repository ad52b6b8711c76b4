/** Pictures, files and links in results, over HTTP through the real clients. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  createAgentGraph,
  type DialectName,
  explainInput,
  toModelInput,
  validateHistory,
} from "../../src/index.js";
import { clientOf, PROVIDERS } from "../support/clients.js";
import { isUserMessage } from "../support/internals.js";
import { type ClientRun, openAgent, openThread } from "../support/open-thread.js";
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
      const { input, request } = await send(
        provider,
        [user, calls("aaaaaaaa1"), result("aaaaaaaa1", text, picture)],
        dialect,
      );
      const isInResult = IN_RESULTS.has(provider) || BLIND.has(provider);
      expect(input.at(-1)?.type).toBe(isInResult ? "tool" : "human");
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
    const input = toModelInput(inChat, { dialect: "strict" });
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

describe("A picture that the model does not see", () => {
  const shown = new ToolMessage({ ...result("a", text, PICTURES["LangChain's standard form"]), id: "r1" });
  const photos = { messages: [user, calls("a"), shown] };
  const reduced = (events: ClientRun["events"]) => events.filter(({ type }) => type === "input-reduced");
  const told = expect.objectContaining({ type: "input-reduced", rung: "described", messageIds: ["r1"] });

  it.each([
    [
      "graph",
      async () =>
        openThread(
          createAgentGraph({ model: await clientOf("deepseek", strict), checkpointer: new MemorySaver() }),
        ).send(photos),
    ],
    [
      "middleware",
      async () => openAgent({ model: await clientOf("deepseek", strict), tools: [] }).run(photos),
    ],
  ])("is told by an event of the %s.", async (_, run) => {
    const { events, error } = await run();
    expect(error).toBeUndefined();
    expect(reduced(events)).toEqual([told]);
  });

  it("is not told of one that sees it.", async () => {
    const graph = createAgentGraph({
      model: await clientOf("openai", strict),
      checkpointer: new MemorySaver(),
    });
    expect(reduced((await openThread(graph).send(photos)).events)).toEqual([]);
  });
});
