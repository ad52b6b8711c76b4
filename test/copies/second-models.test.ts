/** Models of a second copy of LangChain. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { chatMiddleware, createAgentGraph } from "../../src/index.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";
import { second } from "../support/second-copy.js";
import { PlainClient } from "../support/stream-faults.js";
import { pairedScript, script, user } from "../support/thread.js";

const QUESTION = "How is Rome?";

const look = tool(({ city }) => `${city}: sunny`, {
  name: "look",
  description: "Looks at the sky.",
  schema: z.object({ city: z.string() }),
});

/** Calls the tool once if it is asked about Rome, then repeats its result. */
function respondTo(messages: readonly BaseMessage[]): AIMessage {
  const result = messages.find(({ type }) => type === "tool");
  return result === undefined && messages.at(-1)?.text === QUESTION
    ? new second.messages.AIMessage({
        content: "",
        tool_calls: [{ id: "c1", name: "look", args: { city: "Rome" } }],
      })
    : new second.messages.AIMessage(`It says: ${result?.text}`);
}

class WholeModel extends second.chatModels.BaseChatModel {
  override _llmType() {
    return "second";
  }

  override bindTools(tools: BindToolsInput[]) {
    return this.withConfig({ tools } as never);
  }

  override async _generate(messages: BaseMessage[]) {
    const message = respondTo(messages);
    return { generations: [{ text: message.text, message }] };
  }
}

class StreamingModel extends WholeModel {
  override async *_streamResponseChunks(messages: BaseMessage[]) {
    const { content, tool_calls = [] } = respondTo(messages);
    for (const piece of String(content).split(/(?<= )/)) {
      const message = new second.messages.AIMessageChunk({ content: piece });
      yield new second.outputs.ChatGenerationChunk({ text: piece, message });
    }
    for (const [index, { id = "", name, args }] of tool_calls.entries()) {
      const parts = [{ id, name }, { args: JSON.stringify(args) }];
      for (const part of parts) {
        const message = new second.messages.AIMessageChunk({
          content: "",
          tool_call_chunks: [{ type: "tool_call_chunk", index, ...part }],
        });
        yield new second.outputs.ChatGenerationChunk({ text: "", message });
      }
    }
  }
}

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer(({ messages }) => {
    const result = messages.find(({ role }) => role === "tool");
    return result === undefined && messages.at(-1)?.content === QUESTION
      ? { calls: [{ name: "look", args: { city: "Rome" } }] }
      : { text: `It says: ${result?.content}` };
  });
});
afterAll(() => server.stop());

const openAI = (fields: object = {}) =>
  new second.openAI.ChatOpenAI({
    model: "gpt-4o",
    apiKey: "test-key",
    maxRetries: 0,
    configuration: { baseURL: server.url },
    ...fields,
  });

const MODELS: readonly (readonly [title: string, make: () => BaseChatModel])[] = [
  ["a model that only generates", () => new WholeModel({})],
  ["a model that streams", () => new StreamingModel({})],
  ["ChatOpenAI", () => openAI()],
  ["ChatOpenAI with streaming", () => openAI({ streaming: true })],
  ["ChatOpenAI without streaming", () => openAI({ streaming: false })],
  ["ChatOpenAI with a config", () => openAI().withConfig({ tags: ["mine"] }) as unknown as BaseChatModel],
  [
    "a streaming model with a config",
    () => new StreamingModel({}).withConfig({ tags: ["mine"] }) as unknown as BaseChatModel,
  ],
];

const EXPECTED = [`human: ${QUESTION}`, "ai> look", "tool: Rome: sunny", "ai: It says: Rome: sunny"];

const passOn = chatMiddleware(async function passOn(_context, next) {
  await next();
});

describe.each(MODELS)("%s", (_title, make) => {
  describe.each([
    ["alone", []],
    ["with a chat middleware", [passOn]],
  ])("%s", (_with, middleware) => {
    // A response whose calls were lost would be requested again.
    const build = () =>
      createAgentGraph({ model: make(), tools: [look], middleware, maxStreamFallbackAttempts: 0 });

    it("keeps its calls in `invoke`", async () => {
      expect(pairedScript(await build().invoke(user(QUESTION)))).toEqual(EXPECTED);
    });

    it("keeps its calls in `stream`, and shows the client the same messages", async () => {
      const client = new PlainClient();
      let last: unknown;
      const stream = await build().stream(user(QUESTION), { streamMode: ["messages", "values"] });
      for await (const [mode, data] of stream) {
        if (mode === "values") last = data;
        else client.add((data as unknown as [BaseMessage])[0]);
      }
      expect(pairedScript(last)).toEqual(EXPECTED);
      expect(script(client.messages).filter((line) => line.startsWith("ai"))).toEqual(
        EXPECTED.filter((line) => line.startsWith("ai")),
      );
    });

    it("keeps its calls in `streamEvents`", async () => {
      let last: unknown;
      for await (const { event, name, data } of build().streamEvents(user(QUESTION), { version: "v2" }))
        if (event === "on_chain_end" && name === "agent") last = data.output;
      expect(pairedScript(last)).toEqual(EXPECTED);
    });
  });

  it("writes a summary", async () => {
    const graph = createAgentGraph({
      model: new StreamingModel({}),
      summaryModel: make(),
      tools: [look],
      maxMessagesBeforeSummary: 3,
      messagesToKeep: 1,
    });
    const roles = ["user", "assistant", "user", "assistant", "user"];
    const { messages } = await graph.invoke({
      messages: roles.map((role, index) => ({ role, content: `text ${index}` })),
    });
    expect(messages.map(({ additional_kwargs }) => additional_kwargs["lc_source"])).toContain(
      "summarization",
    );
  });
});
