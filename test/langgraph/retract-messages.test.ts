import { AIMessage, RemoveMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { retractMessages, takeBack } from "../../src/threads/langgraph/channels.js";
import { oneNode, say } from "../support/plain-graph.js";

type Node = Parameters<typeof oneNode>[0];

/** What a client of the `messages` stream gets. */
async function shownBy(node: Node): Promise<string[]> {
  const shown: string[] = [];
  const input = { messages: [...say("hi").messages, new AIMessage({ id: "a", content: "ho" })] };
  for await (const [message] of await oneNode(node).stream(input as never, { streamMode: "messages" }))
    shown.push(`${message.type} ${message.id}`);
  return shown;
}

describe("a client of the `messages` stream", () => {
  it("does not get a removal that a node writes; if this test fails, the retraction model is not needed", async () => {
    expect(await shownBy(() => ({ messages: [new RemoveMessage({ id: "a" })] }))).toEqual([]);
  });

  it("gets a removal that comes from a model", async () => {
    const retract: Node = async (_, config) => {
      await retractMessages([new RemoveMessage({ id: "a" })], config);
      return { messages: [new RemoveMessage({ id: "a" })] };
    };
    expect(await shownBy(retract)).toEqual(["remove a"]);
  });

  it("is told to remove a response, but not by an aborted run", async () => {
    const answer = new AIMessage({ id: "b", content: "half" });
    expect(await shownBy(async (_, config) => takeBack(answer, config))).toEqual(["remove b"]);
    const signal = AbortSignal.abort();
    expect(await shownBy(async (_, config) => takeBack(answer, { ...config, signal }))).toEqual([]);
  });
});
