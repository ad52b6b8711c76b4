/** A model that refuses its own dialect by a rule of some provider gets the strict dialect, once. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { type Answer, FunctionModel } from "../../support/function-model.js";
import { openThread } from "../../support/open-thread.js";

/** It looks like an OpenAI client, whose dialect accepts two assistant messages in a row. */
class OpenAILike extends FunctionModel {
  override _llmType(): string {
    return "offline";
  }
}

const refusal = (status: number, text: string) => Object.assign(new Error(text), { status });

const ALTERNATE =
  "400 A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.";

/** Refuses two messages of one role in a row, as a host behind a compatible address may do. */
const alternating: Answer = ({ messages }) =>
  messages.some(({ type }, index) => type === "ai" && messages[index - 1]?.type === "ai")
    ? refusal(400, ALTERNATE)
    : "done";

const history = [
  new HumanMessage("one"),
  new AIMessage("two"),
  new AIMessage("three"),
  new HumanMessage("four"),
];

async function open(answer: Answer) {
  const model = new OpenAILike(answer);
  const graph = createAgentGraph({ model, checkpointer: new MemorySaver() });
  await graph.updateState({ configurable: { thread_id: "1" } }, { messages: history });
  return { model, thread: openThread(graph) };
}

describe("A history that the check found sound, and the provider refused", () => {
  it("is sent again in the strict dialect, with an event", async () => {
    const { model, thread } = await open(alternating);
    const { error, events } = await thread.send("five");
    expect(error).toBeUndefined();
    expect(model.requests).toHaveLength(2);
    expect(events).toContainEqual({
      type: "dialect-changed",
      from: "openai",
      to: "strict",
      reason: expect.stringContaining("must alternate"),
    });
  });

  it("is sent in the strict dialect at once in later turns", async () => {
    const { model, thread } = await open(alternating);
    await thread.send("five");
    const { events } = await thread.send("six");
    expect(model.requests).toHaveLength(3);
    expect(events.filter(({ type }) => type === "dialect-changed")).toEqual([]);
  });

  it("is sent once more only, if the provider refuses that too", async () => {
    const { model, thread } = await open(() => refusal(400, ALTERNATE));
    const { error } = await thread.send("five");
    expect(error).toMatchObject({ code: "MODEL_FAILED", status: 400 });
    expect(model.requests).toHaveLength(2);
  });

  it.each([
    ["a text that is no rule", refusal(400, "400 Unknown model.")],
    ["another status", refusal(403, ALTERNATE)],
  ])("is not sent again for %s", async (_title, error) => {
    const { model, thread } = await open(() => error);
    expect((await thread.send("five")).error).toMatchObject({ code: "MODEL_FAILED" });
    expect(model.requests).toHaveLength(1);
  });
});
