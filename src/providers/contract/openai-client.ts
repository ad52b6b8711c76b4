/** LangChain's client for OpenAI's protocol, which many hosts have. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { importOptional } from "../../shared/import-optional.js";
import type { ModelFields } from "./provider.js";
import { closed, isStrict, type WantedFormat } from "./response-format.js";

export async function createOpenAIModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatOpenAI } = await importOptional<typeof import("@langchain/openai")>("@langchain/openai");
  return new ChatOpenAI({ ...fields, ...(baseURL !== undefined && { configuration: { baseURL } }) });
}

/** Every host with OpenAI's protocol is asked in this form. */
export const openaiFormat = {
  options: ({ name, description, jsonSchema, strict = isStrict(jsonSchema) }: WantedFormat) => {
    const schema = strict ? closed(jsonSchema) : jsonSchema;
    const json_schema = { name, ...(description !== undefined && { description }), schema, strict };
    return { response_format: { type: "json_schema", json_schema } };
  },
  isKept: ({ jsonSchema }: WantedFormat) => isStrict(jsonSchema),
};
