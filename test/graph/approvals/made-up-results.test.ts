/** What agent-chat-ui sends before a message: a result for each call that has none, though nobody ran it. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { approvalThread, approve } from "../../support/approval-graph.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript } from "../../support/thread.js";

let count = 0;

/** As its `ensureToolCallsHaveResponses` makes them. */
function madeUpFor(messages: readonly BaseMessage[]): object[] {
  const asking = messages.findLast(({ type }) => type === "ai");
  const made = Reflect.get(Object(asking), "tool_calls") as { id: string; name: string }[];
  return made.map(({ id, name }) => {
    count += 1;
    return {
      type: "tool",
      tool_call_id: id,
      id: `do-not-render-${count}`,
      name,
      content: "Successfully handled tool call.",
    };
  });
}

const human = (content: string) => ({ type: "human", content });

describe("results that a chat UI made up", () => {
  it("do not count as results of calls that wait for approval: those were declined", async () => {
    const batch = calls(["free", { label: "1" }], ["risky", { label: "2" }]);
    const thread = approvalThread([batch, "then not", calls(["risky", { label: "3" }]), "the end"]);
    await thread.say("go");
    await thread.run({ messages: [...madeUpFor(await thread.messages()), human("something else")] });
    const script = await thread.pairedScript();
    expect(script).toEqual([
      "ai> free risky",
      "tool: free did 1",
      expect.stringMatching(/^tool! Tool call risky .* it was not approved, so it was not run\.$/),
      "human: something else",
      "ai: then not",
    ]);
    expect(thread.runs).toEqual(["free:1"]);
    await thread.say("another");
    await thread.decide(approve);
    expect(thread.runs).toEqual(["free:1", "risky:3"]);
    expect((await thread.pairedScript()).slice(0, script.length)).toEqual(script);
  });

  it("give way to what a tool had returned when its run was cancelled", async () => {
    const stop = new AbortController();
    const make = (name: string, run: () => Promise<string>) =>
      tool(run, { name, description: name, schema: z.object({}) });
    const fast = make("fast", async () => "fast is done");
    const slow = make("slow", async () => {
      setTimeout(() => stop.abort(), 20);
      return new Promise<never>(() => {});
    });
    const model = scripted(calls(["fast"], ["slow"]), "I see");
    const graph = createAgentGraph({ model, tools: [fast, slow], checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: "1" } };
    const run = graph.invoke({ messages: [human("go")] }, { ...thread, signal: stop.signal });
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    const messages = messagesOf((await graph.getState(thread)).values);
    const next = [...madeUpFor(messages), human("next")] as BaseMessageLike[];
    await graph.invoke({ messages: next }, thread);
    expect(pairedScript((await graph.getState(thread)).values)).toEqual([
      "human: go",
      "ai> fast slow",
      "tool: fast is done",
      expect.stringMatching(/^tool! Tool call slow .* a new message came before it finished\./),
      "human: next",
      "ai: I see",
    ]);
  });

  it("do not answer calls that the caller is to run", async () => {
    const thread = approvalThread([calls(["free", { label: "1" }]), "the end"], { autoInvoke: false });
    await thread.say("go");
    const asked = await thread.messages();
    await thread.run({ messages: madeUpFor(asked) });
    const [made] = Reflect.get(Object(asked[1]), "tool_calls") as { id: string }[];
    await thread.run({ messages: [{ role: "tool", tool_call_id: made?.id, content: "done" }] });
    expect(await thread.pairedScript()).toEqual(["ai> free", "tool: done", "ai: the end"]);
  });
});

it("The latest state of the history has the result of a call beside one that waits", async () => {
  const thread = approvalThread([calls(["free", { label: "1" }], ["risky", { label: "2" }]), "the end"]);
  await thread.say("go");
  const history = [];
  for await (const { values, next } of thread.graph.getStateHistory(thread.config)) {
    history.push([values.messages?.length, next.length]);
  }
  expect(history).toEqual([
    [3, 2],
    [1, 1],
    [0, 1],
  ]);
  for await (const { values } of thread.graph.getStateHistory(thread.config, { limit: 1 }))
    expect(values.messages.at(-1).text).toBe("free did 1");
  await thread.decide(approve);
  await thread.pairedScript();
});
