import { type AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { describe, expect, it } from "vitest";
import { OfflineChatModel } from "../../src/offline/offline-chat-model.js";
import { bindOffline, collect, PARALLEL } from "../support/offline-model.js";

function joined(chunks: AIMessageChunk[]): AIMessageChunk {
  return chunks.reduce((left, right) => concat(left, right));
}

describe("OfflineChatModel, streaming", () => {
  it.each([["Hello!"], [PARALLEL], ['call look {"emoji": "🍵🍵🍵🍵🍵🍵🍵🍵🍵", "n": [1, 2]}']])(
    "gives the same response as without streaming: %s",
    async (text) => {
      const whole = await bindOffline().invoke([new HumanMessage(text)]);
      const streamed = joined(await collect([new HumanMessage(text)]));
      expect(streamed.content).toBe(whole.content);
      expect(streamed.tool_calls).toEqual(whole.tool_calls);
      expect(streamed.invalid_tool_calls).toEqual([]);
      expect(streamed.response_metadata).toMatchObject(whole.response_metadata);
      expect(streamed.usage_metadata).toMatchObject(whole.usage_metadata ?? {});
    },
  );

  it("streams text word by word", async () => {
    const chunks = await collect([new HumanMessage("Hello!")]);
    expect(chunks.slice(0, 3).map((chunk) => chunk.content)).toEqual(["I ", "am ", "the "]);
  });

  it("streams the arguments of each call in several pieces under its index", async () => {
    const pieces = (await collect([new HumanMessage(PARALLEL)])).flatMap(
      (chunk) => chunk.tool_call_chunks ?? [],
    );
    const first = pieces.filter((piece) => piece.index === 0);
    expect(first[0]).toMatchObject({ name: "calculator", args: "" });
    expect(first.slice(1).map((piece) => piece.args)).toEqual(['{"input"', ':"12*(3+', '4)"}']);
    expect(new Set(pieces.map((piece) => piece.index))).toEqual(new Set([0, 1, 2]));
  });

  it("streams a long call in a bounded number of pieces, because each takes time on its way", async () => {
    const text = "🍵 ".repeat(50_000);
    const chunks = await collect([new HumanMessage(`call look {"text": "${text}"}`)]);
    expect(chunks.length).toBeLessThan(110);
    expect(joined(chunks).tool_calls).toMatchObject([{ name: "look", args: { text } }]);
  });

  it("ends with one chunk that holds the finish reason and the usage", async () => {
    const chunks = await collect([new HumanMessage(PARALLEL)]);
    const withReason = chunks.filter((chunk) => "finish_reason" in chunk.response_metadata);
    expect(withReason).toEqual(chunks.slice(-1));
    expect(withReason).toMatchObject([
      { usage_metadata: { input_tokens: 19, output_tokens: 64, total_tokens: 83 } },
    ]);
  });

  it("reports each token to the callbacks, even when invoked without streaming", async () => {
    const tokens: string[] = [];
    const handler = {
      lc_prefer_streaming: true,
      handleLLMNewToken: (token: string) => {
        tokens.push(token);
      },
    };
    const message = await bindOffline().invoke("Hello!", { callbacks: [handler] });
    expect(tokens.join("")).toBe(message.content);
    expect(tokens.length).toBeGreaterThan(10);
  });

  it("stops between two chunks when it is aborted", async () => {
    const controller = new AbortController();
    let count = 0;
    const consume = async () => {
      for await (const _ of await new OfflineChatModel().stream("Hello!", { signal: controller.signal })) {
        count += 1;
        controller.abort();
      }
    };
    await expect(consume()).rejects.toThrow(/abort/i);
    expect(count).toBe(1);
  });

  it("gives no response if it was aborted before", async () => {
    await expect(bindOffline().invoke("Hello!", { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });
});
