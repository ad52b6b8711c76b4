/** `run` of the OpenAI Agents SDK, with the history that its caller keeps: https://openai.github.io/openai-agents-js */

import type { StoredMessage } from "@langchain/core/messages";
import {
  Agent,
  type AgentInputItem,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import type { Adapter } from "../adapter.js";
import { callsOfStored, picturesOfStored, textOfStored } from "../stored.js";

setTracingDisabled(true);

export const adapter: Adapter = {
  name: "openai-agents",
  title: "@openai/agents",
  packages: ["@openai/agents"],
  hosts: ["openai", "openai-responses"],
  summarises: false,
  open: async ({ endpoint: { host, url }, tools, idleMs }) => {
    const timeout = idleMs === undefined ? {} : { timeout: idleMs };
    const client = new OpenAI({ apiKey: "test-key", baseURL: `${url}/v1`, ...timeout });
    const Model = host === "openai" ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
    const agent = new Agent({
      name: "agent",
      model: new Model(client as never, "gpt-5"),
      tools: tools.map(({ name, description, schema, run: execute }) =>
        tool({
          name,
          description,
          parameters: { additionalProperties: true, required: [], ...schema } as never,
          strict: false,
          execute: async (args) => execute(args as Record<string, unknown>),
        }),
      ),
    });
    let thread: AgentInputItem[] = [];
    return {
      send: async (messages) => {
        thread = [...thread, ...messages.flatMap(toItems)];
        const result = await run(agent, thread, { stream: true, maxTurns: 20 });
        await result.completed;
        if (result.error != null) throw result.error;
        thread = result.history;
        return String(result.finalOutput ?? "");
      },
      read: async () => [],
    };
  },
};

function toItems(stored: StoredMessage): AgentInputItem[] {
  const text = textOfStored(stored);
  if (stored.type === "human") {
    const pictures = picturesOfStored(stored).map(({ mimeType, data }) => ({
      type: "input_image" as const,
      image: `data:${mimeType};base64,${data}`,
    }));
    return [{ role: "user", content: [{ type: "input_text", text }, ...pictures] }];
  }
  if (stored.type === "system") return [{ role: "system", content: text }];
  const type = "function_call_result";
  if (stored.type === "tool") {
    const callId = stored.data.tool_call_id ?? "";
    const name = stored.data.name ?? "";
    return [{ type, name, callId, status: "completed", output: { type: "text", text } }];
  }
  const said: AgentInputItem[] =
    text === "" ? [] : [{ role: "assistant", status: "completed", content: [{ type: "output_text", text }] }];
  const calls = callsOfStored(stored).map(({ id, name, args }) => ({
    type: "function_call" as const,
    callId: id,
    name,
    arguments: JSON.stringify(args),
    status: "completed" as const,
  }));
  return [...said, ...calls];
}
