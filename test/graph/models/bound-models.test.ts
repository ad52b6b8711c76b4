/** Models are passed without bound options: tools, fallbacks and response formats are set on the graph. */

import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { initChatModel } from "langchain/chat_models/universal";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, InvalidSettingError } from "../../../src/index.js";
import { OfflineChatModel } from "../../../src/offline/offline-chat-model.js";
import { type ModelServer, startModelServer } from "../../support/model-server.js";
import { pairedScript, user } from "../../support/thread.js";

const openAI = new ChatOpenAI({ model: "gpt-5", apiKey: "sk-secret-of-the-test" });
const anthropic = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "sk-secret-of-the-test" });
const configurable = await initChatModel("gpt-5", {
  modelProvider: "openai",
  apiKey: "sk-secret-of-the-test",
});
const offline = new OfflineChatModel();
const tools = [
  { type: "function", function: { name: "sky", parameters: { type: "object", properties: {} } } },
];
const form = { title: "answer", type: "object", properties: { text: { type: "string" } } };

/** As JavaScript hands it over: the compiler refuses it. */
const asModel = (model: unknown) => model as BaseChatModel;

const BOUND_TOOLS = ["a model with bound tools", "Pass the model itself, and its tools as `tools`."] as const;

describe.each(["model", "summaryModel", "fallbackModels[0]"] as const)("As `%s`", (setting) => {
  const build = (given: unknown) =>
    setting === "fallbackModels[0]"
      ? createAgentGraph({ model: "offline:", fallbackModels: [asModel(given)] })
      : createAgentGraph({ model: "offline:", [setting]: asModel(given) });

  it.each([
    ["bound tools of OpenAI's client", openAI.bindTools(tools), ...BOUND_TOOLS],
    ["bound tools of Anthropic's client", anthropic.bindTools(tools), ...BOUND_TOOLS],
    ["bound tools of `initChatModel`", configurable.bindTools(tools), ...BOUND_TOOLS],
    [
      "a form of the answers of `initChatModel`",
      configurable.withStructuredOutput(form),
      "a sequence, as `withStructuredOutput` makes it",
      "Pass the model itself.",
    ],
    ["bound tools of the offline model", offline.bindTools(tools), ...BOUND_TOOLS],
    [
      "tools in a config over a config",
      anthropic.bindTools(tools).withConfig({ tags: ["a"] }),
      ...BOUND_TOOLS,
    ],
    [
      "fallbacks",
      openAI.withFallbacks([anthropic]),
      "a model with fallbacks",
      "Pass the model itself, and the other models as `fallbackModels`.",
    ],
    [
      "a form of OpenAI's answers",
      openAI.withStructuredOutput(form),
      "a sequence, as `withStructuredOutput` makes it",
      "Pass the model itself.",
    ],
    [
      "a form of Anthropic's answers",
      anthropic.withStructuredOutput(form),
      "a sequence, as `withStructuredOutput` makes it",
      "Pass the model itself.",
    ],
  ])("a model with %s is refused, and no key is told", (_title, model, got, advice) => {
    expect(() => build(model)).toThrow(InvalidSettingError);
    expect(() => build(model)).toThrow(
      `Expected \`${setting}\` to be a chat model or the name of one, got ${got}. ${advice}`,
    );
  });
});

describe("A model with a config is asked with the tools of the graph:", () => {
  const look = tool(async ({ city }: { city: string }) => `${city}: clear`, {
    name: "look",
    description: "Looks at the sky.",
    schema: z.object({ city: z.string() }),
  });
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer(({ messages, tools }) =>
      tools.length > 0 && messages.at(-1)?.role === "user"
        ? { calls: [{ name: "look", args: { city: "Rome" } }] }
        : { text: "Done." },
    );
  });
  afterAll(() => server.stop());
  const fields = () => ({
    model: "gpt-4o",
    apiKey: "test-key",
    maxRetries: 0,
    configuration: { baseURL: server.url },
  });

  it.each<[title: string, make: () => unknown]>([
    ["tags", () => new ChatOpenAI(fields()).withConfig({ tags: ["a"] })],
    [
      "a config around a config",
      () => new ChatOpenAI(fields()).withConfig({ tags: ["a"] }).withConfig({ metadata: { a: 1 } }),
    ],
    ["an option of the request", () => new ChatOpenAI(fields()).withConfig({ stop: ["END"] })],
    ["retries", () => new ChatOpenAI(fields()).withRetry({ stopAfterAttempt: 1 })],
  ])("%s", async (_title, make) => {
    const graph = createAgentGraph({ model: asModel(make()), tools: [look] });
    expect(pairedScript(await graph.invoke(user("How is Rome?")))).toEqual([
      "human: How is Rome?",
      "ai> look",
      "tool: Rome: clear",
      "ai: Done.",
    ]);
  });

  it("its options reach the provider", async () => {
    const model = new ChatOpenAI(fields()).withConfig({ stop: ["END"] }).withConfig({ tags: ["a"] });
    await createAgentGraph({ model: asModel(model), tools: [look] }).invoke(user("How is Rome?"));
    expect(server.bodies.at(-1)).toMatchObject({ stop: ["END"], tools: [{ function: { name: "look" } }] });
  });
});

it("A model with other options is asked.", async () => {
  createAgentGraph({ model: asModel(openAI.withConfig({ tags: ["a"] })) });
  createAgentGraph({
    model: asModel(configurable),
    summaryModel: asModel(configurable.withConfig({ tags: ["a"] })),
  });
  const model = asModel(offline.withConfig({ tags: ["a"] }).withConfig({ metadata: { a: 1 } }));
  expect(pairedScript(await createAgentGraph({ model }).invoke(user("hello")))).toHaveLength(2);
});
