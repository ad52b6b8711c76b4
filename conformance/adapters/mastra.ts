/** `Agent` of Mastra, with a list of messages that its caller keeps: https://mastra.ai/docs/agents/overview */

import type { StoredMessage } from "@langchain/core/messages";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import type { ModelMessage } from "ai";
import { z } from "zod";
import type { Adapter } from "../adapter.js";
import { textOfStored } from "../stored.js";
import { modelOf, toModelMessage } from "./vercel-ai.js";

export const adapter: Adapter = {
  name: "mastra",
  title: "mastra",
  packages: ["@mastra/core"],
  hosts: ["openai", "openai-responses", "anthropic"],
  summarises: false,
  open: async ({ endpoint, tools }) => {
    const agent = new Agent({
      id: "agent",
      name: "agent",
      instructions: "",
      // It is typed for another patch version of the AI SDK's interface.
      model: modelOf(endpoint) as never,
      tools: Object.fromEntries(
        tools.map(({ name, description, schema, run }) => [
          name,
          createTool({
            id: name,
            description,
            inputSchema: z.fromJSONSchema(schema as never),
            execute: async (args) => run(Object(args)),
          }),
        ]),
      ),
    });
    let thread: ModelMessage[] = [];
    return {
      send: async (messages) => {
        thread = [...thread, ...messages.map(toMastra)];
        const output = await agent.stream(thread as never, { maxSteps: 20 });
        await output.consumeStream();
        if (output.error !== undefined) throw output.error;
        const reason = await output.finishReason;
        if (reason !== "stop") throw new Error(`The run ended with the finish reason "${reason}".`);
        const { messages: said = [] } = await output.response;
        thread = [...thread, ...(said as ModelMessage[])];
        return await output.text;
      },
      read: async () => [],
    };
  },
};

const toMastra = (stored: StoredMessage): ModelMessage =>
  stored.type === "system" ? { role: "system", content: textOfStored(stored) } : toModelMessage(stored);
