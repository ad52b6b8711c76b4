/** A chat middleware that changes the model's response. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { MiddlewareTermination } from "../../../src/index.js";
import { chatAgent, config } from "../../fixtures/middleware/chat-agent.js";
import { calls } from "../../support/scripted-model.js";
import { PlainClient, shown } from "../../support/stream-faults.js";
import { pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

describe("the response", () => {
  it("can replace the response of a model that failed", async () => {
    const { send } = chatAgent(
      async (context, next) => {
        await next().catch(() => {
          context.result = "It is down.";
        });
      },
      [new Error("500"), "done"],
    );
    expect(await send("one")).toEqual(["human: one", "ai: It is down."]);
    expect((await send("two")).slice(2)).toEqual(["human: two", "ai: done"]);
  });

  it("can have tool calls, which are run", async () => {
    const { send, probe } = chatAgent(
      async (context, next) => {
        if (context.messages.at(-1)?.type === "human") context.result = calls(["fast"]);
        else await next();
      },
      ["done"],
    );
    expect(await send("one")).toEqual(["human: one", "ai> fast", "tool: fast done -", "ai: done"]);
    expect(probe.runs).toHaveLength(1);
  });

  it("can be the same object several times: each is stored unchanged", async () => {
    const cached = new AIMessage({ id: "cached", content: "Hello." });
    const { send } = chatAgent(async (context) => {
      context.result = cached;
    }, []);
    await send("one");
    expect(await send("two")).toEqual(["human: one", "ai: Hello.", "human: two", "ai: Hello."]);
    expect(cached.id).toBe("cached");
  });

  it("keeps fields that were set on it since it was made", async () => {
    const given = new AIMessage("Hello.");
    given.name = "bot";
    const { graph, send } = chatAgent(async (context) => {
      context.result = given;
    }, []);
    await send("one");
    expect(pairedMessagesOf((await graph.getState(config)).values).at(-1)?.name).toBe("bot");
  });

  it("is not shown if the middleware removes it and ends the run", async () => {
    const { graph } = chatAgent(
      async (context, next) => {
        await next();
        context.result = undefined;
        throw new MiddlewareTermination();
      },
      ["a secret"],
    );
    const client = new PlainClient();
    for await (const [message] of await graph.stream(user("one"), { ...config, streamMode: "messages" }))
      client.add(message);
    expect(shown(client.messages)).toEqual([]);
    expect(pairedScript((await graph.getState(config)).values)).toEqual(["human: one"]);
  });

  it.each([
    ["a number", 42],
    ["a user's message", new HumanMessage("x")],
  ])("cannot be %s", async (_what, result) => {
    const { send } = chatAgent(async (context) => {
      context.result = result as never;
    }, []);
    await expect(send("one")).rejects.toThrow("`context.result` to be an assistant message or a text");
  });
});
