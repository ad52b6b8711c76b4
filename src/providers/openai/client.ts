import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { importOptional } from "../../shared/import-optional.js";
import { closed, isStrict, type WantedFormat } from "../models/response-format.js";
import type { ModelFields, Provider } from "../provider.js";

/** Those of Anthropic end with a date. OpenAI has dates with hyphens. */
const OWN_TOOL =
  /^(web_search|file_search|code_interpreter|computer|image_generation|mcp|local_shell|shell|apply_patch)(?!_?\w*_\d{8}$)/;

/** Every host with OpenAI's protocol is asked in this form. */
export const openaiFormat = {
  options: ({ name, description, jsonSchema, strict = isStrict(jsonSchema) }: WantedFormat) => {
    const schema = strict ? closed(jsonSchema) : jsonSchema;
    const json_schema = { name, ...(description !== undefined && { description }), schema, strict };
    return { response_format: { type: "json_schema", json_schema } };
  },
  isKept: ({ jsonSchema }: WantedFormat) => isStrict(jsonSchema),
};

/** OpenAI, and what every host with its protocol has from it. */
export const openaiProvider: Provider = {
  models: {
    openai: {
      install: "npm install @langchain/openai",
      keys: ["OPENAI_API_KEY"],
      baseURL: "OPENAI_BASE_URL",
      create: createOpenAIModel,
    },
  },
  modelNames: [/^(gpt|chatgpt|o\d)/i, "openai"],
  finishReasons: {
    calls: ["tool_calls", "function_call"],
    limit: ["length", "max_output_tokens", "incomplete"],
    withheld: ["content_filter"],
    interrupted: ["failed", "cancelled", "in_progress"],
  },
  finishFields: ["finish_reason"],
  overflow: [
    // Status 400, `context_length_exceeded`: "This model's maximum context length is 4097 tokens. However, your
    // messages resulted in 4619 tokens." (ChatGPTNextWeb/NextChat#625)
    // The same words with "you requested 131134 tokens (122942 in the messages, 8192 in the completion)": DeepSeek
    // (evalstate/fast-agent#621), vLLM (vllm#20409). OpenRouter: "you requested about 243013 tokens (238917 of text
    // input, 4096 in the output)" (continuedev/continue#10690).
    "maximum context length is <limit> tokens[.,;]? *(?:however)?,? *(?:your messages resulted in|you requested(?: about)?) <total> tokens(?:[^)]*?<output> (?:in|for) the (?:completion|output))?",
    // "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens."
    // (archi-physics/archi#497)
    "exceed the configured limit of <limit> tokens. Your messages resulted in <input> tokens",
    // The Responses API: "Your input exceeds the context window of this model." (the-open-agent/openagent#2344)
    "exceeds the context window",
    // `string_above_max_length`: "Invalid 'messages[1].content': string too long. Expected a string with maximum
    // length 1048576, but got a string with length 1056035 instead." The numbers are characters of one message.
    "Invalid '(?:messages|input)[^']*(?:content|output|text|arguments)[^']*': string too long",
  ],
  formats: { openai: openaiFormat, "openai-responses": openaiFormat },
  tools: {
    maker: "OpenAI",
    dialects: ["openai", "openai-responses"],
    isOwn: ({ type }) => OWN_TOOL.test(String(type)),
  },
  // Anthropic, DeepSeek and DashScope have the same form.
  secrets: ["sk-[\\w*-]{6,}"],
};

export async function createOpenAIModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatOpenAI } = await importOptional<typeof import("@langchain/openai")>("@langchain/openai");
  return new ChatOpenAI({ ...fields, ...(baseURL !== undefined && { configuration: { baseURL } }) });
}
