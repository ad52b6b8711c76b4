import { ChatAnthropic } from "@langchain/anthropic";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import {
  isStreamedByLangChain,
  STREAMING_METHODS,
  streamPlainly,
} from "../../src/langgraph/streaming-methods.js";

describe("a chat model that streams", () => {
  it("calls these methods on `this` to make its chunks", async () => {
    const called: unknown[] = [];
    const model = new FakeListChatModel({ responses: ["hi"] });
    const watched: FakeListChatModel = new Proxy(model, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (STREAMING_METHODS.has(name) || name === "_streamResponseChunks") {
          called.push(name);
          return value;
        }
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    for await (const _ of await watched.stream("hi"));
    expect(called.slice(0, STREAMING_METHODS.size)).toEqual([...STREAMING_METHODS]);
    expect(called).toContain("_streamResponseChunks");
  });
});

describe("a model whose chunks are read without LangChain's streams", () => {
  it.each([
    [
      "a client without a `stream` of its own",
      new ChatAnthropic({ apiKey: "key", model: "claude-haiku-4-5" }),
      true,
    ],
    ["a client that adds options in `stream`", new ChatOpenAI({ apiKey: "key" }), false],
    ["an object that only looks like a model", { stream: () => {} }, false],
    ["an object without `stream`", {}, false],
  ])("%s", (_what, model, expected) => {
    expect(isStreamedByLangChain(model)).toBe(expected);
  });

  it("gives the same chunks", async () => {
    const texts: unknown[][] = [];
    for (const stream of [FakeListChatModel.prototype.stream, streamPlainly]) {
      const chunks: unknown[] = [];
      const model = new FakeListChatModel({ responses: ["hi there"] });
      for await (const { content } of await stream.call(model as never, "hi")) chunks.push(content);
      texts.push(chunks);
    }
    expect(texts[0]).toHaveLength("hi there".length);
    expect(texts[1]).toEqual(texts[0]);
  });

  it("ends when it is aborted, although its client goes on", async () => {
    const { signal, abort } = withAbort();
    const model = new FakeListChatModel({ responses: ["hi there"], sleep: 60_000 });
    const chunks = await streamPlainly.call(model as never, "hi", { signal } as never);
    const read = chunks[Symbol.asyncIterator]().next();
    abort(new Error("stop"));
    await expect(read).rejects.toThrow("stop");
  });
});

function withAbort() {
  const caller = new AbortController();
  return { signal: caller.signal, abort: (reason: Error) => caller.abort(reason) };
}
