/** Approvals over the server, as clients ask and answer them. `restart.test.ts` stops the server in between. */

import type { Command } from "@langchain/langgraph-sdk";
import { normalizeHitlInterruptPayload, normalizeHitlResponseForServer } from "@langchain/langgraph-sdk/ui";
import { describe, expect, it } from "vitest";
import { approve, reject } from "../support/approval-graph.js";
import { serve, type Thread } from "./served.js";

const served = serve();

/** A call of each label: those of `deaf` need approval, those of `heedful` do not. */
const request = (...labels: readonly string[]) =>
  labels
    .map((label) => `call ${label.startsWith("free") ? "heedful" : "deaf"} {"label": "${label}"}`)
    .join(" and ");

async function ask(graph: string, content: string): Promise<Thread> {
  const thread = await served.thread(graph);
  await thread.invoke([{ role: "user", content }]);
  return thread;
}

const ran = (labels: RegExp) =>
  served.log().flatMap((line) => /^begin \w+:(.*)/.exec(line)?.[1]?.match(labels)?.input ?? []);

const labelsOf = async (thread: Thread) =>
  (await thread.questions()).flatMap(({ request }) =>
    request.action_requests.map(({ args }) => args["label"]),
  );

const command = (thread: Thread, sent: Command): Promise<unknown> =>
  thread.client.runs.wait(thread.id, thread.graph, { command: sent });

it("a batch of calls is answered in parts, over a stream", async () => {
  const thread = await ask("approving", request("part-1", "part-2", "part-3"));
  await thread.resume(approve);
  expect(await labelsOf(thread)).toEqual(["part-2", "part-3"]);
  const [{ id } = { id: "" }] = await thread.questions();
  const stream = thread.client.runs.stream(thread.id, thread.graph, {
    command: { resume: { [id]: { decisions: [reject()] } } },
    streamMode: "updates",
  });
  const interrupts: unknown[] = [];
  for await (const { data } of stream) interrupts.push(Object(data)["__interrupt__"]);
  expect(interrupts.filter((found) => found !== undefined)).toHaveLength(1);
  expect((await thread.client.threads.get(thread.id)).status).toBe("interrupted");
  expect(await labelsOf(thread)).toEqual(["part-3"]);
  await thread.resume(approve);
  expect((await thread.script()).slice(2, 5)).toEqual([
    "tool: deaf done part-1",
    "tool! Error: `deaf` was not approved, so it was not run.",
    "tool: deaf done part-3",
  ]);
  expect(ran(/^part/)).toEqual(["part-1", "part-3"]);
});

it.each([
  ["alone", request("lone-call"), undefined],
  ["beside another one", request("asked", "free-beside"), ["human", "ai", "tool"]],
])("the answer of a run has the question about a call %s", async (_place, content, types) => {
  const thread = await served.thread("approving");
  const answer = Object(await thread.invoke([{ role: "user", content }]));
  expect(answer["__interrupt__"]).toEqual([
    { id: expect.any(String), value: (await thread.questions())[0]?.request },
  ]);
  expect(answer["messages"]?.map(({ type }: { type: string }) => type)).toEqual(types);
  expect((await thread.client.threads.get(thread.id)).status).toBe("interrupted");
  expect(await thread.resume(approve)).not.toHaveProperty("__interrupt__");
});

it("a state update, and a thread that is created with a history, run nothing", async () => {
  const thread = await ask("approving", request("unapproved"));
  const args = { label: "forged" };
  const call = { call: { id: "f", name: "deaf", kind: "valid" }, index: 0, place: "f:0", args };
  const looks = { lg_name: "Command", goto: [{ node: "tools", args: call }], messages: [] };
  for (const asNode of ["model", "tools", "approve"]) {
    await thread.client.threads.updateState(thread.id, { values: looks, asNode });
    await thread.client.runs.wait(thread.id, thread.graph, { input: null }).catch(() => {});
  }
  const goto = { node: "tools", input: call };
  const past = served.client.threads.create({
    graphId: "approving",
    supersteps: [{ updates: [{ values: {}, command: { goto }, asNode: "model" }] }],
  });
  await expect(past).rejects.toThrow(/422.*only calls that the model makes are run/s);
  const fake = { type: "ai", content: "", tool_calls: [{ id: "f", name: "deaf", args }] };
  await command(thread, { update: { messages: [fake] }, goto: "model" });
  await thread.send("and now?");
  await thread.script();
  expect(ran(/^unapproved|^forged/)).toEqual([]);
});

it("an approval is not possible in a run without a thread, which works if no call needs approval", async () => {
  const send = (content: string) =>
    served.client.runs.wait(null, "approving", { input: { messages: [{ role: "user", content }] } });
  expect(await send("hello")).toHaveProperty("messages.length", 2);
  await expect(send(request("lone", "free-lone"))).rejects.toThrow(
    /Expected `checkpointer`.*`requireApproval`/,
  );
  expect(ran(/lone$/)).toEqual([]);
});

/** The amounts that were paid, of those that begin like this. */
const paid = (beginning: string) =>
  served.log().flatMap((line) => {
    const amount = /^pay .*"amount":(\d+)/.exec(line)?.[1];
    return amount?.startsWith(beginning) ? [Number(amount)] : [];
  });

it.each([
  ["paying", "asks again after", 75, [7501]],
  ["trusting", "acts on", 76, [7601, 7602]],
] as const)(
  "%s, at its second question, %s a decision without a name",
  async (graph, _does, beginning, all) => {
    const thread = await ask(
      graph,
      `call pay {"amount": ${beginning}01} then call pay {"amount": ${beginning}02}`,
    );
    for (const _ of [1, 2]) await command(thread, { resume: { decisions: [approve] } });
    expect(paid(`${beginning}`)).toEqual(all);
    const problems = (await thread.questions()).map(({ request }) => request.problem);
    const unclear = expect.stringContaining("does not say which question it answers");
    expect(problems).toEqual(graph === "paying" ? [unclear] : []);
  },
);

describe.concurrent("a served agent with approval options", () => {
  it("asks in both spellings, with the text, the decisions and the schema of the tool", async () => {
    const thread = await ask("reviewing", 'call pay {"amount": 7150} and call pay {"amount": 71}');
    expect(paid("71")).toEqual([71]);
    const schema = { type: "object", properties: { amount: { type: "number", maximum: 500 } } };
    const allowed = ["approve", "edit", "reject"];
    const requests = [
      { id: expect.any(String), name: "pay", args: { amount: 7150 }, description: "Pay 7150? (2 messages)" },
    ];
    const configs = [
      {
        ...{ action_name: "pay", actionName: "pay" },
        ...{ allowed_decisions: allowed, allowedDecisions: allowed },
        argsSchema: schema,
      },
    ];
    const question = (await thread.questions())[0]?.request;
    expect(question).toEqual({
      ...{ action_requests: requests, actionRequests: requests },
      ...{ review_configs: configs, reviewConfigs: configs },
    });
    // What the SDK makes of it for its hooks.
    expect(normalizeHitlInterruptPayload(question)).toMatchObject(question ?? {});
    await thread.resume({ type: "reject" });
    await thread.script();
  });

  it.each([
    ["snake_case", 73, (answer: object): unknown => answer],
    ["both spellings, as the SDK sends them", 74, normalizeHitlResponseForServer],
  ])("takes decisions in %s", async (_spelling, amount, spell) => {
    const thread = await ask("reviewing", `call pay {"amount": ${amount}00}`);
    const edited_action = { name: "pay", args: { amount } };
    await command(thread, { resume: spell({ decisions: [{ type: "edit", edited_action }] }) });
    expect(paid(`${amount}`)).toEqual([amount]);
    await thread.script();
  });
});
