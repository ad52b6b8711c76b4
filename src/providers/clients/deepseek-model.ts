import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { sendReasoning } from "./send-reasoning.js";

export interface DeepSeekFields {
  readonly model: string;
  readonly apiKey: string;
  readonly baseURL: string | undefined;
  readonly maxRetries?: number;
}

/** `ChatDeepSeek` that sends the reasoning of earlier answers back, also where no agent asks it. */
export async function createDeepSeekModel({
  model,
  apiKey,
  baseURL,
  maxRetries,
}: DeepSeekFields): Promise<BaseChatModel> {
  const { ChatDeepSeek } = await import("@langchain/deepseek");
  return sendReasoning(
    new ChatDeepSeek({
      model,
      apiKey,
      ...(maxRetries !== undefined && { maxRetries }),
      ...(baseURL !== undefined && { configuration: { baseURL } }),
    }),
  );
}
