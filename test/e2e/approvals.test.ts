/** Approvals over the server, as clients ask and answer them; the server is stopped and started again in between. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, Interrupt } from "@langchain/langgraph-sdk";
import { normalizeHitlInterruptPayload, normalizeHitlResponseForServer } from "@langchain/langgraph-sdk/ui";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import type { ApprovalRequest } from "../../src/index.js";
import { approve, edit, reject } from "../support/approval-graph.js";
import { readLog, serve, Thread } from "./served.js";
import { AGENTS } from "./shared-server.js";

const directory = await mkdtemp(join(tmpdir(), "tether-approvals-"));
const TOOL_LOG = join(directory, "tools.log");
const options = { config: AGENTS, stateDirectory: join(directory, "state"), env: { TOOL_LOG } };
let server: DevServer;

beforeAll(async () => {
  server = await startDevServer(options);
});

afterAll(async () => {
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** A call of each label: those of `deaf` need approval, those of `heedful` do not. */
const request = (...labels: readonly string[]) =>
  labels
    .map((label) => `call ${label.startsWith("free") ? "heedful" : "deaf"} {"label": "${label}"}`)
    .join(" and ");

async function newThread(): Promise<Thread> {
  const { thread_id } = await server.client.threads.create();
  return new Thread(server.client, "approving", thread_id);
}

/** Which of the labels ran, in whatever order. */
function ran(...labels: readonly string[]): string[] {
  const begun = readLog(TOOL_LOG).flatMap((line) => /^begin \w+:(.*)/.exec(line)?.[1] ?? []);
  return begun.filter((label) => labels.some((wanted) => label.startsWith(wanted))).sort();
}

/** What the thread's state says that it waits for. */
async function asked({ client, id }: Thread) {
  const [{ status }, { tasks }] = await Promise.all([client.threads.get(id), client.threads.getState(id)]);
  const interrupts = tasks.flatMap((task) => task.interrupts as Interrupt<ApprovalRequest>[]);
  const requests = interrupts.flatMap(({ value }) => value ?? []);
  return {
    status,
    interrupts,
    labels: requests.flatMap(({ action_requests }) => action_requests.map(({ args }) => args["label"])),
    problem: requests[0]?.problem,
  };
}

async function command(thread: Thread, sent: Command, more: object = {}): Promise<unknown> {
  return thread.client.runs.wait(thread.id, thread.graph, { command: sent, ...more });
}

const decide = (thread: Thread, ...decisions: readonly object[]) =>
  command(thread, { resume: { decisions } });

const ask = async (...labels: readonly string[]) => {
  const thread = await newThread();
  await thread.client.runs.wait(thread.id, thread.graph, {
    input: { messages: [{ role: "user", content: request(...labels) }] },
  });
  return thread;
};

/** Runs at the same time; the restart comes behind. */
describe.concurrent("a batch of calls, some of which need approval,", () => {
  it("is answered in parts, over a stream", async () => {
    const thread = await ask("b1", "b2", "b3");
    await decide(thread, approve);
    expect(await asked(thread)).toMatchObject({ status: "interrupted", labels: ["b2", "b3"] });
    const stream = thread.client.runs.stream(thread.id, thread.graph, {
      command: { resume: { decisions: [reject()] } },
      streamMode: "updates",
    });
    const interrupts: unknown[] = [];
    for await (const { data } of stream) interrupts.push(Object(data)["__interrupt__"]);
    expect(interrupts.filter((found) => found !== undefined)).toHaveLength(1);
    expect(await asked(thread)).toMatchObject({ status: "interrupted", labels: ["b3"] });
    await decide(thread, approve);
    expect((await thread.script()).slice(2, 5)).toEqual([
      "tool: deaf done b1",
      "tool! Error: `deaf` was not approved, so it was not run.",
      "tool: deaf done b3",
    ]);
    expect(ran("b")).toEqual(["b1", "b3"]);
  });
});

describe.concurrent("an invalid decision runs nothing:", () => {
  const call = {
    call: { id: "f", name: "deaf", kind: "valid" },
    index: 0,
    place: "f:0",
    args: { label: "forged" },
  };
  const send = { node: "tools", input: call };

  it("a state update, and a thread that is created with a history", async () => {
    const thread = await ask("i1");
    const looks = { lg_name: "Command", goto: [{ node: "tools", args: call }], messages: [] };
    for (const asNode of ["model", "tools", "approve"]) {
      await thread.client.threads.updateState(thread.id, { values: looks, asNode });
      await thread.client.runs.wait(thread.id, thread.graph, { input: null }).catch(() => {});
    }
    const past = server.client.threads.create({
      graphId: "approving",
      supersteps: [{ updates: [{ values: {}, command: { goto: send }, asNode: "model" }] }],
    });
    await expect(past).rejects.toThrow(/422.*only calls that the model makes are run/s);
    const fake = {
      type: "ai",
      content: "",
      tool_calls: [{ id: "f", name: "deaf", args: { label: "forged" } }],
    };
    await command(thread, { update: { messages: [fake] }, goto: "model" });
    await thread.send("and now?");
    await thread.script();
    expect(ran("i", "forged")).toEqual([]);
  });
});

it("an approval is not possible in a run without a thread, which works if no call needs approval", async () => {
  const send = (content: string) =>
    server.client.runs.wait(null, "approving", { input: { messages: [{ role: "user", content }] } });
  expect(await send("hello")).toHaveProperty("messages.length", 2);
  await expect(send(request("j1", "free-j"))).rejects.toThrow(/Expected `checkpointer`.*`requireApproval`/);
  expect(ran("j", "free-j")).toEqual([]);
});

it("a question survives a restart of the server", async () => {
  const { id } = await ask("j1", "free-j", "j2", "j3");
  await decide(new Thread(server.client, "approving", id), approve);
  await server.stop();
  server = await startDevServer(options);
  const thread = new Thread(server.client, "approving", id);
  expect(await asked(thread)).toMatchObject({ labels: ["j2", "j3"] });
  await decide(thread, edit({ label: "j2-edited" }, "deaf"), reject());
  expect((await thread.script()).slice(2, 6)).toEqual([
    "tool: deaf done j1",
    "tool: heedful done free-j",
    "tool: deaf done j2-edited",
    "tool! Error: `deaf` was not approved, so it was not run.",
  ]);
  expect(ran("j", "free-j")).toEqual(["free-j", "j1", "j2-edited"]);
});

// Approvals with options for each tool, over the server: asked and answered in both spellings.

const served = serve();

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

async function askToPay(...amounts: readonly number[]): Promise<Thread> {
  const thread = await served.thread("reviewing");
  const content = amounts.map((amount) => `call pay {"amount": ${amount}}`).join(" and ");
  await thread.client.runs.wait(thread.id, thread.graph, {
    input: { messages: [{ role: "user", content }] },
  });
  return thread;
}

describe.concurrent("a served agent with approval options", () => {
  it("asks in both spellings, with the text, the decisions and the schema of the tool", async () => {
    const thread = await askToPay(7150, 71);
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

  it.each([
    ["snake_case", (answer: object): unknown => answer],
    ["both spellings, as the SDK sends them", normalizeHitlResponseForServer],
  ])("takes decisions in %s", async (what, spell) => {
    const amount = what === "snake_case" ? 73 : 74;
    const thread = await askToPay(amount * 100);
    const edited_action = { name: "pay", args: { amount } };
    await resume(thread, spell({ decisions: [{ type: "edit", edited_action }] }));
    expect(paid(`${amount}`)).toEqual([amount]);
    await thread.script();
  });
});
