import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { cachedCreateModel, createAgentGraph, createModel, InvalidModelError } from "../../../src/index.js";
import { KEY, MADE_MODELS, makeModel, makeModelAt } from "../../support/clients.js";
import { dialectOf, identityOf } from "../../support/internals.js";
import { ANSWER, startStrictProvider } from "../../support/strict-provider/start-strict-provider.js";
import { expectWarnings, stopAtEnd } from "../../support/test-tools.js";
import { pairedScript, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

expectWarnings(/^`summaryModel` has no effect/);

const strict = stopAtEnd(await startStrictProvider());

const echo = makeTool("echo", ({ text }) => text, z.object({ text: z.string() }));

const errorOf = (model: Promise<unknown>) => model.then(String, (reason: unknown) => reason);

describe.each(MADE_MODELS)("the model $name", (made) => {
  const { name, key, baseURL, dialect } = made;
  it("is made from its environment variables, and responds with tools", async () => {
    const withTools = (await makeModel(made, strict)).bindTools?.([echo]);
    let text = "";
    for await (const chunk of (await withTools?.stream([new HumanMessage("hello")])) ?? [])
      text += chunk.text;
    expect(text).toBe(ANSWER);
    expect(JSON.stringify(strict.lastRequest())).toContain('"echo"');
  });

  it("has its provider's dialect", async () => {
    expect(dialectOf(await createModel(name, { environment: { [key]: KEY } }))).toBe(dialect);
  });

  it("names the variable of a missing key", async () => {
    const error = await errorOf(createModel(name, { environment: {} }));
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(String(error)).toContain(key);
  });

  it("refuses an invalid base URL without telling the key", async () => {
    const error = String(await errorOf(makeModelAt({ ...made, path: "" }, "not a url")));
    expect(error).toContain(baseURL);
    expect(error).not.toContain(KEY);
  });
});

it("A missing package is named with the command that installs it.", async () => {
  const error = String(
    await errorOf(createModel("google-vertexai:gemini-2.5-flash", { environment: { GOOGLE_API_KEY: KEY } })),
  );
  expect(error).toContain("npm install langchain @langchain/google-vertexai");
  expect(error).not.toContain(KEY);
});

describe("the dialect of a model", () => {
  const openAI = (fields: object) => new ChatOpenAI({ model: "gpt-5", apiKey: KEY, ...fields });
  const clientOf = (type: string) => ({ _llmType: () => type, model: "my-deployment" });
  it.each([
    ["OpenAI's chat", openAI({}), "openai"],
    ["OpenAI's Responses", openAI({ useResponsesApi: true }), "openai-responses"],
    [
      "Qwen by its host",
      openAI({ configuration: { baseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" } }),
      "dashscope",
    ],
    [
      "an unknown host",
      openAI({ configuration: { baseURL: "http://localhost:8000/v1" } }),
      "openai-compatible",
    ],
    ["another client of OpenAI's protocol", clientOf("groq"), "openai-compatible"],
    ["a client of Azure", clientOf("azure_openai"), "openai"],
    ["a model with bound options", openAI({}).bindTools([echo]), "openai"],
    ["an unknown client", { invoke: () => new AIMessage("") }, "as-stored"],
  ] as const)("%s", (_title, model, dialect) => {
    expect(dialectOf(model)).toBe(dialect);
  });

  it.each([
    ["https://eu.api.openai.com/v1", "gpt-5", "openai"],
    ["https://me.openai.azure.com/openai/v1", "my-deployment", "openai"],
    ["https://me.services.ai.azure.com/openai/v1", "Mistral-Large-3", "mistral-openai"],
    ["https://api.openai.com.example.org/v1", "gpt-5", "openai-compatible"],
    ["https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1", "qwen-max", "dashscope"],
    ["https://api.deepseek.com", "deepseek-chat", "deepseek"],
    ["https://api.anthropic.com/v1", "claude-sonnet-4-5", "anthropic-openai"],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-flash", "gemini-openai"],
    ["https://us-central1-aiplatform.googleapis.com/v1/x", "google/gemini-2.5-pro", "gemini-openai"],
    ["https://us-central1-aiplatform.googleapis.com/v1/x", "meta/llama-3.3-70b", "openai-compatible"],
    [
      "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
      "openai.gpt-oss-20b-1:0",
      "openai-compatible",
    ],
    [
      "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
      "us.anthropic.claude-sonnet-4-5-v1:0",
      "anthropic-openai",
    ],
    ["https://api.mistral.ai/v1", "mistral-small", "mistral-openai"],
    ["https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", "anthropic-openai"],
    ["https://openrouter.ai/api/v1", "google/gemini-2.5-pro", "gemini-openai"],
    ["https://openrouter.ai/api/v1", "google/gemma-3-27b-it", "openai-compatible"],
    ["https://openrouter.ai/api/v1", "mistralai/mistral-large", "mistral-openai"],
    ["https://openrouter.ai/api/v1", "deepseek/deepseek-chat", "deepseek"],
    ["https://openrouter.ai/api/v1", "deepseek/deepseek-r1-distill-llama-70b", "openai-compatible"],
    ["https://openrouter.ai/api/v1", "openai/gpt-4o", "openai"],
    ["https://openrouter.ai/api/v1", "openai/gpt-oss-120b", "openai-compatible"],
    ["https://openrouter.ai/api/v1", "qwen/qwen3-max", "openai-compatible"],
    ["https://openrouter.ai/api/v1", "moonshotai/kimi-k2", "kimi"],
    ["https://api.x.ai/v1", "grok-4", "xai"],
    ["https://api.moonshot.cn/v1", "kimi-k2.5", "kimi"],
    ["https://open.bigmodel.cn/api/paas/v4", "glm-4.6", "glm"],
    ["https://api.minimax.io/v1", "MiniMax-M2", "minimax"],
    ["https://openrouter.ai/api/v1", "z-ai/glm-4.6", "openai-compatible"],
    ["http://localhost:4000", "claude-sonnet-4-5", "anthropic-openai"],
  ])("at %s for %s", (baseURL, model, dialect) => {
    expect(dialectOf(openAI({ model, configuration: { baseURL } }))).toBe(dialect);
  });

  it("comes with the name of the model, and with who is asked where", () => {
    const host = "api.openai.com";
    expect(identityOf(openAI({}))).toEqual({ dialect: "openai", modelId: "gpt-5", client: "openai", host });
  });
});

/** Models that are made once, and the names that were asked for. */
function counted() {
  const names: string[] = [];
  const share = cachedCreateModel((name) => {
    names.push(name);
    return createModel(name);
  });
  return { names, share };
}

it("Each model is made once, even if it is asked for twice at the same time.", async () => {
  const { names, share } = counted();
  const [one, other] = await Promise.all([share("offline:"), share("offline:")]);
  expect(one).toBe(other);
  expect(await share("offline:other")).not.toBe(one);
  expect(names).toEqual(["offline:", "offline:other"]);
});

it("A model that could not be made is tried again.", async () => {
  let attempts = 0;
  const share = cachedCreateModel(async (name) => {
    attempts += 1;
    if (attempts === 1) throw new Error("not yet");
    return createModel(name);
  });
  await expect(share("offline:")).rejects.toThrow("not yet");
  await expect(share("offline:")).resolves.toBe(await share("offline:"));
  expect(attempts).toBe(2);
});

it("Graphs with the same function use the same models, including their summariser.", async () => {
  const { names, share } = counted();
  for (const thread_id of ["1", "2"]) {
    const graph = createAgentGraph({
      model: "offline:",
      models: ["offline:other"],
      summaryModel: "offline:",
      createModel: share,
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id } };
    expect(pairedScript(await graph.invoke(user("hello"), config))).toHaveLength(2);
    await graph.invoke(user("hello"), { ...config, context: { model: "offline:other" } });
  }
  expect(names).toEqual(["offline:", "offline:other"]);
});
