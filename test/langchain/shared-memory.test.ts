/** Agents with a memory of their own (`checkpointer: true`) as nodes of another graph. */

import { MemorySaver, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";
import { tetherMiddleware } from "../../src/langchain.js";
import { calls, FunctionModel } from "../support/models.js";
import { inThread, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

function openPayer(checkpointer: true | undefined) {
  const paid: string[] = [];
  const pay = makeTool("pay", ({ to }) => `${paid.push(to)} paid`, z.object({ to: z.string() }));
  const model = new FunctionModel(({ messages }) => {
    const last = messages.at(-1);
    return last?.type === "tool" ? "Done." : calls(["pay", { to: last?.text }, `c-${last?.text}`]);
  });
  const parts = { model, tools: [pay], middleware: [tetherMiddleware()], checkpointer };
  const payer = createAgent(parts as never).graph as never;
  return { paid, model, payer };
}

function sendingBoth(payer: never) {
  return new StateGraph(MessagesAnnotation)
    .addNode("start", () => ({}))
    .addNode("payer", payer)
    .addEdge(START, "start")
    .addConditionalEdges("start", () => ["bob", "ann"].map((to) => new Send("payer", user(to))), [
      "payer" as never,
    ])
    .compile({ checkpointer: new MemorySaver() });
}

it("Two tasks that are sent to one agent with its own memory are refused, and nothing is paid", async () => {
  const { paid, model, payer } = openPayer(true);
  const parent = sendingBoth(payer);
  const refused = /Expected `checkpointer` to be left out for an agent that several tasks run at once/;
  await expect(parent.invoke(user("Pay."), inThread("1"))).rejects.toThrow(refused);
  await expect(parent.invoke(null, inThread("1"))).rejects.toThrow(refused);
  expect([paid, model.requests]).toEqual([[], []]);
});

it("Without a memory of their own, both run", async () => {
  const { paid, payer } = openPayer(undefined);
  await sendingBoth(payer).invoke(user("Pay."), inThread("1"));
  expect(paid.toSorted()).toEqual(["ann", "bob"]);
});

it("One task after another goes on with the memory, also if the node runs its agent twice", async () => {
  const { paid, payer } = openPayer(true);
  const parent = new StateGraph(MessagesAnnotation)
    .addNode("payer", payer)
    .addEdge(START, "payer")
    .compile({ checkpointer: new MemorySaver() });
  for (const to of ["bob", "ann"]) await parent.invoke(user(to), inThread("1"));
  const agent = payer as { invoke(input: object): Promise<object> };
  const twice = new StateGraph(MessagesAnnotation)
    .addNode("payer", async () => {
      for (const to of ["joe", "sue"]) await agent.invoke(user(to));
      return {};
    })
    .addEdge(START, "payer")
    .compile({ checkpointer: new MemorySaver() });
  await twice.invoke(user("Pay."), inThread("1"));
  expect(paid).toEqual(["bob", "ann", "joe", "sue"]);
});

it("A task that its parent repeats is not refused", async () => {
  let fails = true;
  const { paid, payer } = openPayer(true);
  const agent = payer as { invoke(input: object): Promise<object> };
  const parent = new StateGraph(MessagesAnnotation)
    .addNode(
      "payer",
      async () => {
        await agent.invoke(user("bob"));
        if (!fails) return {};
        fails = false;
        throw new Error("Away.");
      },
      { retryPolicy: { maxAttempts: 2, initialInterval: 1, retryOn: () => true, logWarning: false } },
    )
    .addEdge(START, "payer")
    .compile({ checkpointer: new MemorySaver() });
  await parent.invoke(user("Pay."), inThread("1"));
  expect(paid).toEqual(["bob", "bob"]);
});
