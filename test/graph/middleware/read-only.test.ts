import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  MiddlewareError,
  type Next,
} from "../../../src/index.js";
import { scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

type Handle = (context: ChatContext, next: Next) => Promise<void>;

/** What happens in one streamed run, in order: pieces of text, and what the middleware does behind `next()`. */
async function happenings(options: readonly { readOnly?: boolean }[]): Promise<string[]> {
  const happened: string[] = [];
  const middleware = options.map((option) =>
    chatMiddleware(async function watch(_context, next) {
      await next();
      happened.push("after");
    }, option),
  );
  const graph = createAgentGraph({ model: scripted("one two three"), middleware });
  for await (const [message] of await graph.stream(user("go"), { streamMode: "messages" }))
    if (message.text !== "") happened.push(message.text);
  return happened;
}

describe("readOnly", () => {
  it("streams the response as it arrives, if all middleware is readOnly", async () => {
    const happened = await happenings([{ readOnly: true }, { readOnly: true }]);
    expect(happened.filter((what) => what !== "after")).toEqual(["one ", "two ", "three"]);
    expect(happened.indexOf("one ")).toBeLessThan(happened.indexOf("after"));
  });

  it.each([[[{}]], [[{ readOnly: true }, {}]]])(
    "holds the answer until all have seen it: %j",
    async (options) => {
      expect(await happenings(options)).toEqual([...options.map(() => "after"), "one two three"]);
    },
  );

  const CHANGES: readonly (readonly [what: string, handle: Handle])[] = [
    [
      "sets another result",
      async (context, next) => {
        await next();
        context.result = "mine";
      },
    ],
    [
      "writes into the result",
      async (context, next) => {
        await next();
        if (context.result !== undefined) context.result.content = "mine";
      },
    ],
    [
      "adds a field to the result",
      async (context, next) => {
        await next();
        if (context.result !== undefined) context.result.name = "mine";
      },
    ],
    [
      "takes the result back",
      async (context, next) => {
        await next();
        context.result = undefined;
      },
    ],
  ];

  it.each(CHANGES)("fails a middleware that %s, and the response is not stored", async (_what, handle) => {
    const graph = createAgentGraph({
      model: scripted("done"),
      middleware: [chatMiddleware(handle, { readOnly: true })],
      checkpointer: new MemorySaver(),
    });
    const run = graph.invoke(user("go"), config);
    await expect(run).rejects.toBeInstanceOf(MiddlewareError);
    await expect(run).rejects.toThrow("`{ readOnly: true }` changed `context.result`");
    expect(pairedScript((await graph.getState(config)).values)).toEqual(["human: go"]);
  });

  it("allows a response without the model", async () => {
    const answer = chatMiddleware(
      async (context) => {
        context.result = "mine";
      },
      { readOnly: true },
    );
    const graph = createAgentGraph({ model: scripted(), middleware: [answer] });
    expect(pairedScript(await graph.invoke(user("go")))).toEqual(["human: go", "ai: mine"]);
  });
});
