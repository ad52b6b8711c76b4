/** Approvals with options for each tool, over the server: asked and answered in both spellings. */

import type { Interrupt } from "@langchain/langgraph-sdk";
import { normalizeHitlInterruptPayload, normalizeHitlResponseForServer } from "@langchain/langgraph-sdk/ui";
import type { HITLRequest, HITLResponse } from "langchain";
import { describe, expect, it } from "vitest";
import type { ApprovalRequest } from "../../src/index.js";
import { AgentChatUi } from "../support/agent-chat-ui.js";
import { serve, type Thread } from "./served.js";

const served = serve();
const approve = { type: "approve" } as const;

/** The amounts that were paid, of those that begin like this. */
const paid = (beginning: string) =>
  served.log().flatMap((line) => {
    const amount = /^pay .*"amount":(\d+)/.exec(line)?.[1];
    return amount?.startsWith(beginning) ? [Number(amount)] : [];
  });

async function questionOf(thread: Thread): Promise<ApprovalRequest | undefined> {
  const { tasks } = await thread.client.threads.getState(thread.id);
  const interrupts = tasks.flatMap((task) => task.interrupts as Interrupt<ApprovalRequest>[]);
  return interrupts[0]?.value;
}

const resume = (thread: Thread, answer: unknown) =>
  thread.client.runs.wait(thread.id, thread.graph, { command: { resume: answer } });

async function ask(...amounts: readonly number[]): Promise<Thread> {
  const thread = await served.thread("reviewing");
  const content = amounts.map((amount) => `call pay {"amount": ${amount}}`).join(" and ");
  await thread.client.runs.wait(thread.id, thread.graph, {
    input: { messages: [{ role: "user", content }] },
  });
  return thread;
}

describe.concurrent("a served agent with approval options", () => {
  it("asks in both spellings, with the text, the decisions and the schema of the tool", async () => {
    const thread = await ask(7150, 71);
    expect(paid("71")).toEqual([71]);
    const schema = { type: "object", properties: { amount: { type: "number", maximum: 500 } } };
    const allowed = ["approve", "edit", "reject"];
    const requests = [
      { id: expect.any(String), name: "pay", args: { amount: 7150 }, description: "Pay 7150? (2 messages)" },
    ];
    const configs = [
      {
        action_name: "pay",
        actionName: "pay",
        allowed_decisions: allowed,
        allowedDecisions: allowed,
        args_schema: schema,
        argsSchema: schema,
      },
    ];
    const question = await questionOf(thread);
    expect(question).toEqual({
      action_requests: requests,
      actionRequests: requests,
      review_configs: configs,
      reviewConfigs: configs,
    });
    // What the SDK makes of it for its hooks.
    expect(normalizeHitlInterruptPayload(question)).toMatchObject(question ?? {});
    await resume(thread, { decisions: [{ type: "reject" }] });
    await thread.script();
  });

  it("takes the decisions of code that is written for LangChain.js", async () => {
    const thread = await ask(7201, 7202, 7203);
    const { actionRequests, reviewConfigs } = (await questionOf(thread)) as unknown as HITLRequest;
    const answer: HITLResponse = {
      decisions: actionRequests.map(({ name, args }, index) => {
        if (!reviewConfigs[index]?.allowedDecisions.includes("edit")) return { type: "reject" };
        if (args["amount"] === 7202) return { type: "edit", editedAction: { name, args: { amount: 72 } } };
        return args["amount"] === 7203 ? { type: "reject", message: "too much" } : approve;
      }),
    };
    await resume(thread, answer);
    expect(paid("72").sort()).toEqual([72, 7201]);
    expect((await thread.script()).slice(1, 5)).toEqual([
      "ai> pay pay pay",
      "tool: paid 7201",
      "tool: paid 72",
      "tool! Error: `pay` was not approved, so it was not run. Reason: too much",
    ]);
  });

  it.each([
    ["snake_case", (answer: object): unknown => answer],
    ["both spellings, as the SDK sends them", normalizeHitlResponseForServer],
  ])("takes decisions in %s", async (what, spell) => {
    const amount = what === "snake_case" ? 73 : 74;
    const thread = await ask(amount * 100);
    const edited_action = { name: "pay", args: { amount } };
    await resume(thread, spell({ decisions: [{ type: "edit", edited_action }] }));
    expect(paid(`${amount}`)).toEqual([amount]);
    await thread.script();
  });

  it.each([
    [
      "a decision that the tool does not allow",
      { type: "respond", message: "done" },
      "allows only `approve`, `edit` or `reject`",
    ],
    [
      "edited arguments that its schema refuses",
      { type: "edit", editedAction: { name: "pay", args: { amount: 7501 } } },
      "args.amount`: 7501",
    ],
  ])("asks again after %s", async (_what, decision, problem) => {
    const thread = await ask(7500);
    await resume(thread, { decisions: [decision] });
    const again = await questionOf(thread);
    expect(again?.problem).toContain(problem);
    expect(again?.actionRequests[0]?.description).toMatch(/^Pay 7500\? \(2 messages\)\n\nThe last decision/);
    await resume(thread, { decisions: [{ type: "reject" }] });
    await thread.script();
    expect(paid("75")).toEqual([]);
  });

  it("is shown and answered by agent-chat-ui", async () => {
    const { thread_id } = await served.client.threads.create();
    const ui = new AgentChatUi(served.url, "reviewing", thread_id);
    await ui.send('call pay {"amount": 7600}');
    const [question] = await ui.questions();
    expect(question?.review_configs).toMatchObject([
      { action_name: "pay", allowed_decisions: ["approve", "edit", "reject"] },
    ]);
    // Its form sends each argument as text.
    await ui.decide({ type: "edit", edited_action: { name: "pay", args: { amount: "76" } } });
    expect(paid("76")).toEqual([76]);
  });
});
