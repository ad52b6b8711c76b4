/** One batch of tool calls, from the model's response to the results. */

import type { ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { expect } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { calls, type WantedCall } from "./models.js";
import { scripted } from "./scripted-model.js";
import { pairedMessagesOf, user } from "./thread.js";
import { makeTool } from "./tools.js";

export const schema = z.object({ amount: z.number(), note: z.string().optional() });

/** A tool that returns a value and counts its runs. */
export function returning(value: unknown, name = "give") {
  const runs: unknown[] = [];
  const given = makeTool(
    name,
    async (args: z.infer<typeof schema>, { toolCallId }: ToolRuntime) => {
      runs.push(args);
      return typeof value === "function" ? value(toolCallId) : value;
    },
    schema,
  );
  return { tool: given, runs };
}

/** The results of one batch, and the text that follows them. */
export async function results(options: Omit<AgentGraphOptions, "model">, ...batch: WantedCall[]) {
  const graph = createAgentGraph({ model: scripted(calls(...batch), "the end"), ...options });
  const messages = pairedMessagesOf(await graph.invoke(user("go")));
  expect(messages.at(-1)?.text).toBe("the end");
  return messages.filter((message): message is ToolMessage => message.type === "tool");
}
