/** Models are passed without bound options: tools, fallbacks and response formats are set on the graph. */

import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";
import { initChatModel } from "langchain/chat_models/universal";
import { describe, expect, it } from "vitest";
import { createAgentGraph, InvalidSettingError } from "../../../src/index.js";
import { OfflineChatModel } from "../../../src/offline/offline-chat-model.js";
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

describe.each(["model", "summaryModel"] as const)("As `%s`", (setting) => {
  const build = (given: unknown) => createAgentGraph({ model: "offline:", [setting]: asModel(given) });

  it.each([
    ["bound tools of OpenAI's client", openAI.bindTools(tools), "a model with bound tools"],
    ["bound tools of Anthropic's client", anthropic.bindTools(tools), "a model with bound tools"],
    ["bound tools of `initChatModel`", configurable.bindTools(tools), "a model with bound tools"],
    [
      "a form of the answers of `initChatModel`",
      configurable.withStructuredOutput(form),
      "a sequence, as `withStructuredOutput` makes it",
    ],
    ["bound tools of the offline model", offline.bindTools(tools), "a model with bound tools"],
    [
      "tools in a config over a config",
      anthropic.bindTools(tools).withConfig({ tags: ["a"] }),
      "a model with bound tools",
    ],
    ["fallbacks", openAI.withFallbacks([anthropic]), "a model with fallbacks"],
    [
      "a form of OpenAI's answers",
      openAI.withStructuredOutput(form),
      "a sequence, as `withStructuredOutput` makes it",
    ],
    [
      "a form of Anthropic's answers",
      anthropic.withStructuredOutput(form),
      "a sequence, as `withStructuredOutput` makes it",
    ],
  ])("a model with %s is refused, and no key is told", (_title, model, got) => {
    expect(() => build(model)).toThrow(InvalidSettingError);
    expect(() => build(model)).toThrow(
      `Expected \`${setting}\` to be a chat model or the name of one, got ${got}. Pass the model itself, and its tools as \`tools\`.`,
    );
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
