/** Agents with a memory of their own, which other agents call as tools: several in one response. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { calls, FunctionModel } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import { SAVERS } from "../../support/savers.js";
import { scripted } from "../../support/scripted-model.js";
import { inThread, pairedMessagesOf, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

const schema = z.object({ amount: z.number() });

/** An agent that makes the payment that it is asked for, once a human has approved it. */
function createPayer(payments: string[], name: string) {
  const model = new FunctionModel(({ messages, text }) =>
    messages.at(-1)?.type === "human" ? calls(["transfer", { amount: Number(text) }]) : text,
  );
  const transfer = makeTool(
    "transfer",
    ({ amount }) => {
      payments.push(`${name} ${amount}`);
      return `${name} paid ${amount}`;
    },
    schema,
  );
  return createAgentGraph({ model, tools: [transfer], requireApproval: ["transfer"], checkpointer: true });
}

type Child = Pick<ReturnType<typeof createPayer>, "invoke">;

const asTool = (name: string, child: Child) =>
  makeTool(
    name,
    async ({ amount }, config) =>
      (await child.invoke(user(String(amount)), config as never)).messages.at(-1)?.text,
    schema,
  );

/** The same agent inside a graph of LangGraph's own, which has the memory. */
const inPlainGraph = (child: Child): Child =>
  parentOf(
    async ({ messages }: { messages: BaseMessage[] }, config: never) => {
      const answer = await child.invoke({ messages }, config);
      return { messages: answer.messages.slice(-1) };
    },
    { checkpointer: true },
  ) as unknown as Child;

const approve = { decisions: [{ type: "approve" }] };
const reject = { decisions: [{ type: "reject", message: "no" }] };

interface Asked {
  readonly id: string;
  readonly amount: number;
}

describe.each(SAVERS.filter(({ isThere }) => isThere))("With $title", ({ open }) => {
  async function openTeam(wrap: (child: Child) => Child, ...script: readonly (string | AIMessage)[]) {
    const payments: string[] = [];
    const pay = asTool("pay", wrap(createPayer(payments, "Ann")));
    const other = asTool("pay_other", wrap(createPayer(payments, "Bob")));
    const { connect } = await open();
    const model = scripted(...script);
    // Each run has another graph, as another process has.
    const team = () => createAgentGraph({ model, tools: [pay, other], checkpointer: connect() });
    const run = (input: unknown) => team().invoke(input as never, inThread("1"));
    const asked = async (): Promise<Asked[]> => {
      const { tasks } = await team().getState(inThread("1"));
      return tasks.flatMap(({ interrupts }) =>
        interrupts.map(({ id = "", value }) => {
          const [request] = (value as { action_requests: { args: { amount: number } }[] }).action_requests;
          return { id, amount: request?.args.amount ?? 0 };
        }),
      );
    };
    const decide = async (of: (amount: number) => object) => {
      const resume = Object.fromEntries((await asked()).map(({ id, amount }) => [id, of(amount)]));
      return pairedMessagesOf(await run(new Command({ resume })));
    };
    return { payments, run, asked, decide };
  }

  describe.each([
    ["an agent", (child: Child) => child],
    ["a graph of LangGraph", inPlainGraph],
  ])("and %s with `checkpointer: true` as a tool", (_, wrap) => {
    it("two agents do not get one another's memory, in one response and in later ones", async () => {
      const { payments, run, decide } = await openTeam(
        wrap,
        calls(["pay", { amount: 1 }], ["pay_other", { amount: 2 }], ["pay", { amount: 3 }]),
        "done",
        calls(["pay_other", { amount: 4 }]),
        "done",
        calls(["pay", { amount: 5 }], ["pay_other", { amount: 6 }]),
        "done",
      );
      await run(user("go"));
      await decide((amount) => (amount === 1 ? reject : approve));
      expect(payments.toSorted()).toEqual(["Ann 3", "Bob 2"]);
      for (const paid of [["Bob 4"], ["Ann 5", "Bob 6"]]) {
        payments.length = 0;
        await run(user("more"));
        await decide(() => approve);
        expect(payments.toSorted()).toEqual(paid);
      }
    });
  });
});
