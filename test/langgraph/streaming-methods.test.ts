import { FakeListChatModel } from "@langchain/core/utils/testing";
import { describe, expect, it } from "vitest";
import { STREAMING_METHODS } from "../../src/providers/answer/guard-model.js";

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
