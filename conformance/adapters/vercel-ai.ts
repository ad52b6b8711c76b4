/** `streamText` of the AI SDK, with a list of messages that its caller keeps: https://ai-sdk.dev/docs */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { StoredMessage } from "@langchain/core/messages";
import { jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import type { Adapter, Endpoint } from "../adapter.js";
import { callsOfStored, picturesOfStored, textOfStored } from "../stored.js";

export const adapter: Adapter = {
  name: "vercel-ai",
  title: "vercel ai",
  packages: ["ai"],
  hosts: ["openai", "openai-responses", "anthropic"],
  summarises: false,
  open: async ({ endpoint, tools, idleMs }) => {
    let thread: ModelMessage[] = [];
    /** It refuses system messages among the others. */
    let instructions: string[] = [];
    return {
      send: async (messages) => {
        instructions = [...instructions, ...messages.filter(isSystem).map(textOfStored)];
        thread = [...thread, ...messages.filter((message) => !isSystem(message)).map(toModelMessage)];
        let failure: unknown;
        const run = streamText({
          model: modelOf(endpoint),
          messages: thread,
          ...(instructions.length > 0 && { instructions: instructions.join("\n") }),
          stopWhen: stepCountIs(20),
          ...(idleMs !== undefined && { timeout: { firstChunkMs: idleMs, chunkMs: idleMs } }),
          tools: Object.fromEntries(
            tools.map(({ name, description, schema, run: execute }) => [
              name,
              tool({
                description,
                inputSchema: jsonSchema(schema as never),
                execute: async (args) => execute(args as Record<string, unknown>),
              }),
            ]),
          ),
          onError: ({ error }) => {
            failure = error;
          },
        });
        await run.consumeStream();
        if (failure !== undefined) throw failure;
        const reason = await run.finishReason;
        if (reason !== "stop") throw new Error(`The run ended with the finish reason "${reason}".`);
        thread = [...thread, ...(await run.responseMessages)];
        return await run.text;
      },
      read: async () => [],
    };
  },
};

export function modelOf({ host, url }: Endpoint) {
  const options = { apiKey: "test-key", baseURL: `${url}/v1` };
  if (host === "anthropic") return createAnthropic(options)("claude-sonnet-4-5");
  return host === "openai" ? createOpenAI(options).chat("gpt-5") : createOpenAI(options)("gpt-5");
}

const isSystem = ({ type }: StoredMessage) => type === "system";

export function toModelMessage(stored: StoredMessage): ModelMessage {
  const text = textOfStored(stored);
  if (stored.type === "human") {
    const pictures = picturesOfStored(stored).map(({ data, mimeType }) => ({
      type: "image" as const,
      image: data,
      mediaType: mimeType,
    }));
    return { role: "user", content: [{ type: "text", text }, ...pictures] };
  }
  if (stored.type === "tool") {
    const toolCallId = stored.data.tool_call_id ?? "";
    const result = { toolCallId, toolName: stored.data.name ?? "", output: { type: "text", value: text } };
    return { role: "tool", content: [{ type: "tool-result", ...result } as never] };
  }
  const parts = callsOfStored(stored).map(({ id, name, args }) => ({
    type: "tool-call" as const,
    toolCallId: id,
    toolName: name,
    input: args,
  }));
  return {
    role: "assistant",
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...parts],
  };
}
