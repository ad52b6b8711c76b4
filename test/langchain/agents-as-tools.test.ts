/** Agents with a memory of their own, which an agent of LangChain calls as a tool several times in one response. */

import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { FunctionModel } from "../support/function-model.js";
import { calls, scripted } from "../support/scripted-model.js";
import { inThread, user } from "../support/thread.js";

const schema = z.object({ amount: z.number() });

function createTeam(payments: number[]) {
  const transfer = tool(
    ({ amount }) => {
      payments.push(amount);
      return `paid ${amount}`;
    },
    { name: "transfer", schema },
  );
  const payer = createAgentGraph({
    model: new FunctionModel(({ messages, text }) =>
      messages.at(-1)?.type === "human" ? calls(["transfer", { amount: Number(text) }]) : text,
    ),
    tools: [transfer],
    requireApproval: ["transfer"],
    checkpointer: true,
  });
  const pay = tool(
    async ({ amount }, config) => {
      const { messages } = await payer.invoke(user(String(amount)), config as never);
      return messages.at(-1)?.text ?? "";
    },
    { name: "pay", schema },
  );
  return createAgent({
    model: scripted(calls(["pay", { amount: 10 }], ["pay", { amount: 20 }]), "done"),
    tools: [pay],
    middleware: [tetherMiddleware()],
    checkpointer: new MemorySaver(),
  });
}

it.each<[approved: number[]]>([[[10, 20]], [[10]], [[20]]])(
  "Of two payments of one response, %j are approved, and made once.",
  async (approved) => {
    const payments: number[] = [];
    const agent = createTeam(payments);
    await agent.invoke(user("go"), inThread("1"));
    const { tasks } = await agent.graph.getState(inThread("1"));
    const resume = Object.fromEntries(
      tasks.flatMap(({ interrupts }) =>
        interrupts.map(({ id = "", value }) => {
          const { amount } = value.action_requests[0].args;
          const decision = approved.includes(amount)
            ? { type: "approve" }
            : { type: "reject", message: "no" };
          return [id, { decisions: [decision] }];
        }),
      ),
    );
    const { messages } = await agent.invoke(new Command({ resume }), inThread("1"));
    expect(payments.toSorted()).toEqual(approved);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "tool", "ai"]);
  },
);
