/** What a client has of the whole response, and leaves out of the chunks of a stream, through the real clients. */

import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { Listener } from "../support/listener.js";
import { checkAnthropic } from "../support/strict-provider/check-anthropic.js";
import type { RequestCheck } from "../support/strict-provider/refusal.js";
import {
  type Answer,
  anthropic,
  gemini,
  openAI,
  serve,
  TEXT,
} from "../support/strict-provider/serve-responses.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";

type Fields = Readonly<Record<string, unknown>>;

const apiKey = "x";
const maxRetries = 0;
const look = tool(({ city }) => `It is clear in ${city}.`, {
  name: "look",
  schema: z.object({ city: z.string() }),
});

const AGENTS = [
  [
    "createAgentGraph",
    (model: BaseChatModel, checkpointer = new MemorySaver()) =>
      createAgentGraph({ model, tools: [look], checkpointer, maxTokensBeforeSummary: 0 }),
  ],
  [
    "tetherMiddleware",
    (model: BaseChatModel, checkpointer = new MemorySaver()) =>
      createAgent({ model, tools: [look], middleware: [tetherMiddleware()], checkpointer }),
  ],
] as const;

const claudeAt = (url: string, model: string, more: object) =>
  new ChatAnthropic({ model, apiKey, maxRetries, anthropicApiUrl: url, ...more });

const SIGNED = { type: "thinking", thinking: "I should look.", signature: "c2lnbmVk" };
const anyRequest: RequestCheck = () => undefined;

/** Claude, which refuses what another model has signed. */
const ownThoughts =
  (model: string, refused: () => void): RequestCheck =>
  (body, stored) => {
    if (Object(body)["model"] === model || !JSON.stringify(body).includes(SIGNED.signature))
      return checkAnthropic(body, stored);
    refused();
    const message = "messages.1.content.0: Invalid `signature` in `thinking` block";
    return { status: 400, body: { type: "error", error: { type: "invalid_request_error", message } } };
  };

describe.each(AGENTS)("%s", (_, agentWith) => {
  describe.each([
    ["in a stream", false],
    ["in one piece", true],
  ])("%s", (_mode, disableStreaming) => {
    const heard = () => ({ ...inThread("1"), callbacks: [new Listener()] });

    it.each<readonly [string, Answer, (url: string, more: object) => BaseChatModel, string]>([
      [
        "Claude",
        anthropic([{ type: "text", text: "Hi." }]),
        (url, more) => claudeAt(url, "claude-sonnet-4-5", more),
        "claude-sonnet-4-5",
      ],
      [
        "Gemini",
        gemini([{ text: "Hi." }]),
        (url, more) =>
          new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey, baseUrl: url, ...more }),
        "gemini-2.5-flash",
      ],
      [
        "Gemini with `ChatGoogle`",
        gemini([{ text: "Hi." }]),
        (url, more) => new ChatGoogle({ model: "gemini-2.5-flash", apiKey, endpoint: url, ...more }),
        "gemini-2.5-flash",
      ],
    ])("a response of %s knows its model", async (_name, answer, create, name) => {
      const { url } = await serve(anyRequest, [answer]);
      const messages = pairedMessagesOf(
        await agentWith(create(url, { disableStreaming })).invoke(user("Hello"), heard()),
      );
      const { model_name, model: given } = Object(messages.at(-1)?.response_metadata);
      expect(model_name ?? given).toBe(name);
    });

    it("a client of a user's class with private fields is asked as it is", async () => {
      class Counted extends ChatAnthropic {
        #asked = 0;

        get asked() {
          return this.#asked;
        }
        override async _generate(...given: Parameters<ChatAnthropic["_generate"]>) {
          this.#asked += 1;
          return super._generate(...given);
        }
        override async *_streamResponseChunks(...given: Parameters<ChatAnthropic["_streamResponseChunks"]>) {
          this.#asked += 1;
          yield* super._streamResponseChunks(...given);
        }
      }
      const hi = anthropic([{ type: "text", text: "Hi." }]);
      const { url, requests } = await serve(anyRequest, [hi, hi]);
      const fields = {
        model: "claude-sonnet-4-5",
        apiKey,
        maxRetries,
        anthropicApiUrl: url,
        disableStreaming,
      };
      const model = new Counted(fields);
      const agent = agentWith(model);
      for (const text of ["Hello", "And?"]) await agent.invoke(user(text), heard());
      expect(model.asked).toBe(2);
      expect(requests).toHaveLength(2);
    });

    it("Claude is not sent what another Claude has signed", async () => {
      const call = { type: "tool_use", id: "toolu_01", name: "look", input: { city: "Oslo" } };
      const refused = vi.fn();
      const { url, requests } = await serve(ownThoughts("claude-sonnet-4-5", refused), [
        anthropic([SIGNED, { ...call, input: {} }], "tool_use"),
        anthropic([{ type: "text", text: "Clear." }]),
        anthropic([{ type: "text", text: "Bye." }]),
      ]);
      const saver = new MemorySaver();
      for (const [name, text] of [
        ["claude-sonnet-4-5", "The weather?"],
        ["claude-opus-4-5", "Thanks."],
      ] as const) {
        await agentWith(claudeAt(url, name, { disableStreaming }), saver).invoke(user(text), heard());
      }
      const sent = requests.map(({ body }) => JSON.stringify(body).includes(SIGNED.signature));
      expect(sent).toEqual([false, true, false]);
      expect(refused).not.toHaveBeenCalled();
    });

    it("OpenAI's encrypted reasoning and phases come back when nothing is stored", async () => {
      const reasoning = { id: "rs_1", type: "reasoning", summary: [] };
      const encrypted = { ...reasoning, encrypted_content: "Z2hpZGRlbg==" };
      const message = {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [{ type: "output_text", text: TEXT, annotations: [] }],
      };
      const call = {
        id: "fc_1",
        type: "function_call",
        call_id: "call_1",
        name: "look",
        arguments: '{"city":"Oslo"}',
      };
      const whole = openAI(encrypted, message, call);
      const answer: Answer = { ...whole, events: whole.events.map(asStarted) };
      const last = { ...message, id: "msg_2", phase: "final_answer" };
      const { url, requests } = await serve(anyRequest, [answer, openAI(last), openAI(last)]);
      const model = new ChatOpenAI({
        model: "gpt-5",
        apiKey,
        maxRetries,
        useResponsesApi: true,
        zdrEnabled: true,
        disableStreaming,
        configuration: { baseURL: `${url}/v1` },
      });
      const agent = agentWith(model);
      await agent.invoke(user("The weather?"), heard());
      await agent.invoke(user("Thanks."), heard());
      for (const { body } of requests.slice(1)) {
        expect(body["stream"] ?? false).toBe(!disableStreaming);
        const input = Object(body)["input"] as Fields[];
        expect(input.find(({ type }) => type === "reasoning")).toMatchObject({
          encrypted_content: "Z2hpZGRlbg==",
        });
        expect(input.filter(({ role }) => role === "assistant")[0]).toMatchObject({ phase: "commentary" });
      }
    });
  });
});

/** An item is not whole when it begins: the API adds what it knows at its end. */
function asStarted(event: Fields): Fields {
  const { type, item } = event;
  if (type !== "response.output_item.added") return event;
  const { encrypted_content: _, phase: _phase, ...started } = Object(item);
  return { ...event, item: started };
}
