import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { importOptional } from "../import-optional.js";
import type { ModelFields } from "../model-fields.js";
import { sendReasoning } from "./send-reasoning.js";

/** `ChatDeepSeek` that sends the reasoning of earlier responses back, even when it is used without an agent. */
export async function createDeepSeekModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatDeepSeek } = await importOptional<typeof import("@langchain/deepseek")>("@langchain/deepseek");
  return sendReasoning(
    new ChatDeepSeek({ ...fields, ...(baseURL !== undefined && { configuration: { baseURL } }) }),
  );
}
