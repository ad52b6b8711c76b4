/** The offline model with tools, a request for several tool calls, and its responses. */

import { type AIMessage, type AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { QUESTIONS } from "../../server/offline/questions.js";
import { type OfflineCallOptions, OfflineChatModel } from "../../src/offline/offline-chat-model.js";
import { allOf } from "./all-of.js";

export const NAMES = ["calculator", "current_time", "weather", "save_note", "search_notes", "look"];
const tools = NAMES.map((name) => tool(() => "", { name, description: name, schema: z.object({}) }));
export const PARALLEL = "What is 12*(3+4), what time is it in Tokyo, and what's the weather in Paris?";

export function bindOffline(options: Partial<OfflineCallOptions> = {}) {
  return new OfflineChatModel({ language: QUESTIONS }).bindTools(tools, options);
}

export function callNames(message: AIMessage | AIMessageChunk): string[] {
  return (message.tool_calls ?? []).map((call) => call.name);
}

/** A result for each of the calls. */
export function answer(
  message: AIMessage,
  contents: string[],
  status: "success" | "error" = "success",
): ToolMessage[] {
  return (message.tool_calls ?? []).map(
    ({ id = "" }, index) => new ToolMessage({ content: contents[index] ?? "", tool_call_id: id, status }),
  );
}

export async function collect(messages: BaseMessage[], model = bindOffline()): Promise<AIMessageChunk[]> {
  const chunks = await allOf<AIMessageChunk>(model.stream(messages));
  return chunks;
}
