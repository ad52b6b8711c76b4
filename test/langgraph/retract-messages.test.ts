import { AIMessage, RemoveMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { retractMessages, takeBack } from "../../src/langgraph/retract-messages.js";
import { oneNode, say } from "../support/plain-graph.js";

type Node = Parameters<typeof oneNode>[0];

/** What a client of the `messages` stream is told of. */
async function shownBy(node: Node): Promise<string[]> {
  const shown: string[] = [];
  const input = { messages: [...say("hi").messages, new AIMessage({ id: "a", content: "ho" })] };
  for await (const [message] of await oneNode(node).stream(input as never, { streamMode: "messages" }))
    shown.push(`${message.type} ${message.id}`);
  return shown;
}

describe("a client of the `messages` stream", () => {
  it("is not told of a removal that a node writes; when this fails, the retraction model may go", async () => {
    expect(await shownBy(() => ({ messages: [new RemoveMessage({ id: "a" })] }))).toEqual([]);
  });

  it("is told of one that comes from a model", async () => {
    const retract: Node = async (_, config) => {
      await retractMessages([new RemoveMessage({ id: "a" })], config);
      return { messages: [new RemoveMessage({ id: "a" })] };
    };
    expect(await shownBy(retract)).toEqual(["remove a"]);
  });

  it("is told that an answer is taken back, but not by a run that is aborted", async () => {
    const answer = new AIMessage({ id: "b", content: "half" });
    expect(await shownBy(async (_, config) => takeBack(answer, config))).toEqual(["remove b"]);
    const signal = AbortSignal.abort();
    expect(await shownBy(async (_, config) => takeBack(answer, { ...config, signal }))).toEqual([]);
  });
});
