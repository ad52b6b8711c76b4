/** Refusals that people have reported, over HTTP with the real clients: the thread lives, and what the model is told. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { clientAt, openAIAt } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import {
  ANSWER,
  type ProviderName,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());

const DATA = "cGljdHVyZQ==";
const picture = { type: "image", mimeType: "image/png", data: DATA, metadata: { name: "cat.png" } };
const atAddress = { type: "image", url: "https://example.com/dog.png" };

/** Two pictures in two messages, with an answer after each. */
const history = (): BaseMessage[] => [
  new HumanMessage({ id: "u1", content: [{ type: "text", text: "Look." }, picture] as never }),
  new AIMessage({ id: "a1", content: "A cat." }),
  new HumanMessage({ id: "u2", content: [{ type: "text", text: "And here." }, atAddress] as never }),
  new AIMessage({ id: "a2", content: "A dog." }),
];

/** What is described: one of them, or both. */
type Told = "cat" | "dog" | "both";

const at = (provider: ProviderName, model?: string) => async () => {
  const url = strict.url(provider);
  return model === undefined ? await clientAt(provider, url) : openAIAt(`${url}/v1`, { model });
};
const CLIENTS = {
  OpenAI: at("openai"),
  Responses: at("openai-responses"),
  Anthropic: at("anthropic"),
  Gemini: at("gemini"),
  Mistral: at("mistral"),
  Qwen: at("dashscope"),
  Kimi: at("openai", "kimi-k2.6"),
  GLM: at("openai", "glm-4.6v"),
  OpenRouter: at("openai", "z-ai/glm-5"),
  vLLM: at("openai", "Qwen2.5-VL-7B-Instruct"),
  "DeepSeek at a gateway": at("openai", "ds-v4"),
  "Bedrock at a gateway": at("openai", "nova-pro"),
} as const;

/** The words are quoted; where they are from stands beside the patterns in the rooms of the providers. */
const REFUSALS: readonly (readonly [
  client: keyof typeof CLIENTS,
  status: number,
  words: string,
  told: Told,
])[] = [
  [
    "OpenAI",
    400,
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    "both",
  ],
  ["OpenAI", 400, "Error while downloading https://example.com/dog.png.", "dog"],
  [
    "OpenAI",
    400,
    "Invalid image URL: 'messages[0].content[1].image_url.url'. Expected a base64-encoded data URL with an image MIME type.",
    "cat",
  ],
  ["OpenAI", 400, "Timeout while downloading https://example.com/dog.png.", "dog"],
  ["OpenAI", 400, "Invalid MIME type. Only image types are supported.", "both"],
  ["OpenAI", 400, "Failed to download image from https://example.com/dog.png. Image URL is invalid.", "dog"],
  ["OpenAI", 400, "Invalid content type. image_url is only supported by certain models.", "both"],
  [
    "Responses",
    400,
    "The image data you provided does not represent a valid image. Please check your input.",
    "both",
  ],
  [
    "Responses",
    400,
    "Invalid 'input[0].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type, but got empty base64-encoded bytes.",
    "cat",
  ],
  [
    "Responses",
    400,
    "Error while downloading https://example.com/dog.png. Upstream status code: 404.",
    "dog",
  ],
  ["Anthropic", 400, "Could not process image", "both"],
  ["Anthropic", 400, "messages.0.content.1.image.source.base64: Could not process image", "cat"],
  [
    "Anthropic",
    400,
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes",
    "cat",
  ],
  [
    "Anthropic",
    400,
    "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    "cat",
  ],
  [
    "Anthropic",
    400,
    "messages.0.content.1.image.source.base64.data: Image does not match the provided media type image/png",
    "cat",
  ],
  [
    "Anthropic",
    400,
    "messages.0.content.1.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    "cat",
  ],
  ["Anthropic", 400, "messages.0.content.1.image.source.base64: image cannot be empty", "cat"],
  ["Anthropic", 400, "messages.0.content.1.pdf.source.base64.data: The PDF specified was not valid.", "cat"],
  [
    "Anthropic",
    400,
    "messages.2.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    "dog",
  ],
  ["Anthropic", 400, "A maximum of 100 PDF pages may be provided.", "both"],
  [
    "Gemini",
    400,
    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    "both",
  ],
  ["Gemini", 400, "Unsupported MIME type: image/svg+xml", "both"],
  ["Gemini", 400, "Request payload size exceeds the limit: 20971520 bytes.", "both"],
  ["Gemini", 403, "You do not have permission to access the File abc or it may not exist.", "both"],
  [
    "Gemini",
    400,
    "* GenerateContentRequest.contents[0].parts[1].inline_data.mime_type: MIME type must be image/png, image/jpeg, image/webp, image/heic, or image/heif.",
    "cat",
  ],
  ["Mistral", 400, "Image input is not enabled for this model", "both"],
  [
    "Qwen",
    400,
    "<400> InternalError.Algo.InvalidParameter: The image length and width do not meet the model restrictions. [height:1 or width:1 must be larger than 10]",
    "both",
  ],
  ["Qwen", 400, "<400> InternalError.Algo.InvalidParameter: Failed to download multimodal content", "both"],
  [
    "Qwen",
    400,
    "<400> InternalError.Algo.InvalidParameter: Missing Content-Length of multimodal url",
    "both",
  ],
  ["Qwen", 400, "Multimodal file size is too large", "both"],
  [
    "DeepSeek at a gateway",
    400,
    "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 690848",
    "cat",
  ],
  ["Qwen", 400, "Exceeded limit on max data-uri per request: 1", "cat"],
  ["Gemini", 400, "The document has no pages.", "both"],
  ["Gemini", 400, "Image input modality is not enabled for gemini-2.5-flash", "both"],
  ["vLLM", 400, "Downloaded response does not contain a valid JPG or PNG image.", "both"],
  ["vLLM", 400, "image media type not supported", "both"],
  ["Kimi", 400, "Invalid request: unsupported image url: https://example.com/dog.png", "dog"],
  [
    "Kimi",
    400,
    "[invalid_request_error] .messages[2].image[0]: You have uploaded an unsupported image. Please make sure your image is valid and has one of the following formats: webp, png, jpeg, and gif.",
    "dog",
  ],
  ["GLM", 400, "[1210][图片输入格式/解析错误][20260916231629b20bd515ccea4697]", "both"],
  ["OpenRouter", 404, "No endpoints found that support image input", "both"],
  ["vLLM", 400, "At most 1 image(s) may be provided in one request.", "cat"],
  ["vLLM", 400, "this model does not support image input", "both"],
  ["vLLM", 400, "The request failed because the image format is not supported by the API.", "both"],
  [
    "OpenRouter",
    400,
    "Too many images in request: 2 images provided, but the model supports a maximum of 1 images.",
    "cat",
  ],
  [
    "Bedrock at a gateway",
    400,
    "1 validation error detected: Value at 'messages.1.member.content.2.member.image.format' failed to satisfy constraint",
    "cat",
  ],
  [
    "Bedrock at a gateway",
    400,
    "The model returned the following errors: The provided image does not match the specified image format.",
    "both",
  ],
  ["vLLM", 400, "Something about block 4 that nobody has seen yet.", "both"],
];

const bodyOf = (message: string) => ({
  type: "error",
  code: "invalid_request_error",
  message,
  error: { type: "invalid_request_error", message },
});

/** The request without the texts of the library, to find the pictures in it. */
const sent = () => JSON.stringify(strict.lastRequest());
const wasSent = {
  cat: () => sent().includes(DATA),
  dog: () => sent().includes('"https://example.com/dog.png"'),
};

describe.each(REFUSALS)("%s %i: %s", (name, status, words, told) => {
  it(`describes ${told}, and the next turn takes one request`, async () => {
    const graph = createAgentGraph({ model: await CLIENTS[name](), checkpointer: new MemorySaver() });
    const thread = openThread(graph);
    await graph.updateState({ configurable: { thread_id: "1" } }, { messages: history() });
    strict.failNext({ status, body: bodyOf(words) });
    const { error, events } = await thread.send("And now?");
    expect(error).toBeUndefined();
    expect(strict.statuses).toEqual([status, 200]);
    const wanted = { cat: told === "dog", dog: told === "cat" };
    // This client sends a picture at an address as a file, whose URL is described where it is not sent.
    expect(wasSent.cat()).toBe(wanted.cat);
    expect(wasSent.dog()).toBe(wanted.dog);
    expect(sent()).toContain("is not shown, because");
    const reduced = events.filter(({ type }) => type === "input-reduced");
    expect(reduced).toMatchObject([{ reason: expect.any(String) }]);
    expect((await thread.send("Thanks.")).error).toBeUndefined();
    expect(strict.statuses).toEqual([status, 200, 200]);
    // What helped after words that nobody knows may have helped by chance.
    expect(wasSent.cat()).toBe(words.includes("nobody has seen yet") || wanted.cat);
    const stored = await thread.read();
    expect(stored.map(({ text }) => text).filter((text) => text === ANSWER)).toHaveLength(2);
    expect(JSON.stringify(stored[0]?.content)).toBe(JSON.stringify(history()[0]?.content));
  });
});

describe("What has nothing to do with the messages takes exactly one request", () => {
  it.each([
    ["OpenAI", 401, "Incorrect API key provided: sk-x."],
    ["OpenAI", 429, "You exceeded your current quota, please check your plan and billing details."],
    ["OpenAI", 404, "The model `gpt-9` does not exist or you do not have access to it."],
    [
      "OpenAI",
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    [
      "OpenAI",
      400,
      "litellm.BadRequestError: OpenAIException - Unsupported parameter: 'max_tokens' is not supported with this model.",
    ],
    ["OpenAI", 400, "Unsupported value: 'temperature' does not support 0.2 with this model."],
    [
      "OpenAI",
      400,
      "Invalid schema for function 'look': schema must be a JSON Schema of 'type: \"object\"'.",
    ],
    [
      "OpenAI",
      400,
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ],
    ["Responses", 400, "Unknown parameter: 'reasoning.effort_level'."],
    ["Anthropic", 400, "Your credit balance is too low to access the Anthropic API."],
    ["Anthropic", 400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"],
    ["Anthropic", 400, "Output blocked by content filtering policy"],
    ["Anthropic", 400, "You have reached your specified API usage limits."],
    ["Anthropic", 400, "tools.0.custom.input_schema: JSON schema is invalid."],
    ["Gemini", 400, "API key not valid. Please pass a valid API key."],
    ["Gemini", 400, "API Key not found. Please pass a valid API key."],
    [
      "Gemini",
      400,
      "The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations[12].name: [FIELD_INVALID] Invalid function name.",
    ],
    ["Gemini", 400, "The thinking budget (52428) is invalid."],
    ["Gemini", 400, "User location is not supported for the API use."],
    ["Mistral", 400, "Invalid model: mistral-enormous"],
    ["Qwen", 400, "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"],
    [
      "Qwen",
      400,
      "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
    ],
    ["Qwen", 400, "Access denied, please make sure your account is in good standing."],
    ["OpenRouter", 400, "Unknown model: openai/gpt-9"],
    ["OpenRouter", 400, "nobody/nothing is not a valid model ID"],
    ["Kimi", 400, "The request was rejected because it was considered high risk"],
    ["DeepSeek at a gateway", 400, "Model Not Exist"],
    ["DeepSeek at a gateway", 402, "Insufficient Balance"],
  ] as const)("%s %i: %s", async (name, status, words) => {
    const graph = createAgentGraph({ model: await CLIENTS[name]() });
    strict.failNext({ status, body: bodyOf(words) });
    const messages = [...history(), new HumanMessage("And now?")];
    await expect(graph.invoke({ messages })).rejects.toMatchObject({ code: "MODEL_FAILED", status });
    expect(strict.statuses).toEqual([status]);
  });
});
