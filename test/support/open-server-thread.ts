/** A thread of an agent with one tool. Its model is a small OpenAI-compatible server that breaks its streams. */

import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { makeTool } from "./make-tool.js";
import type { ModelServer } from "./model-server.js";
import { openThread } from "./open-thread.js";

/** The cities of the tool calls, in all threads. */
export const looked: string[] = [];
const look = makeTool(
  "look",
  async ({ city }) => {
    looked.push(city);
    return `${city}: clear`;
  },
  z.object({ city: z.string() }),
);

type ModelFields = NonNullable<ConstructorParameters<typeof ChatOpenAI>[0]>;

export function openServerThread(server: ModelServer, fields: Partial<ModelFields> = {}, options = {}) {
  const model = new ChatOpenAI({
    model: "test",
    apiKey: "x",
    maxRetries: 0,
    configuration: { baseURL: server.url },
    ...fields,
  } as ModelFields);
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
  const thread = openThread(graph);
  return {
    ...thread,
    /** One run. It rejects if the run fails. */
    send: async (text: string, signal?: AbortSignal) => {
      const run = await thread.send(text, signal);
      if (run.error !== undefined) throw run.error;
      return run;
    },
  };
}
