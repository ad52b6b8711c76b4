/** Agents of LangChain, deepagents and LangGraph whose runs are cancelled, behind providers that refuse a bad history. */

import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { serve, type Thread, until } from "../served.js";

const served = serve();

/** Begins a batch of two calls, and returns when the second has ended. The first goes on for a minute. */
async function beginBatch(thread: Thread, label: string): Promise<string> {
  const run = await thread.begin(batchOf(label));
  await until(() => {
    const log = served.log();
    return log.includes(`end deaf:${label}`) && log.includes(`begin heedful:${label}`);
  });
  // A tool's end is not yet the end of its task.
  await delay(100);
  return run;
}

async function cancelBatch(thread: Thread, label: string): Promise<void> {
  const run = await beginBatch(thread, label);
  await thread.client.runs.cancel(thread.id, run, true);
}

const batchOf = (label: string) =>
  `call heedful {"label": "${label}", "ms": 60000} and call deaf {"label": "${label}"}`;

const SUPERSEDED = /^tool! Tool call heedful .*: a new message came before it finished\./;

const patched = (label: string) => [
  `human: ${batchOf(label)}`,
  "ai> heedful deaf",
  expect.stringMatching(SUPERSEDED),
  `tool: deaf done ${label}`,
];

const goneOn = [`human: hello`, "ai: I read: hello"];

const begun = (label: string) =>
  served.log().filter((line) => line.startsWith("begin") && line.endsWith(`:${label}`));

it("Without the middleware, the provider refuses every message after a cancelled run.", async () => {
  const thread = await served.thread("create_agent");
  await cancelBatch(thread, "bare");
  await expect(thread.send("hello")).rejects.toThrow("tool_calls");
});

const isSlow = process.env["SLOW_TESTS"] === "1";
const TETHERED = ["create_agent_tethered", "deep_agent", ...(isSlow ? ["create_agent_delta"] : [])] as const;

describe.concurrent.each(TETHERED)("%s", (graph) => {
  it("has the finished result after a cancelled run, and takes a late one", async () => {
    const label = `cancel-${graph}`;
    const thread = await served.thread(graph);
    await cancelBatch(thread, label);
    expect(await thread.send("hello")).toEqual([...patched(label), ...goneOn]);
    expect(begun(label)).toHaveLength(2);

    const closed = (await thread.messages()).find(({ type }) => type === "tool");
    const late = {
      role: "tool",
      content: "late news",
      tool_call_id: Reflect.get(closed ?? {}, "tool_call_id"),
    };
    await thread.client.threads.updateState(thread.id, { values: { messages: [late] } });
    expect((await thread.script()).slice(1, 4)).toEqual([
      "ai> heedful deaf",
      "tool: late news",
      `tool: deaf done ${label}`,
    ]);
    await thread.expectToGoOn();
  });
});

describe.concurrent("create_react_agent, with the field and the hook", () => {
  it("goes on after a cancelled run, and takes a late result", async () => {
    const thread = await served.thread("create_react_agent");
    await cancelBatch(thread, "react");
    await thread.client.runs.wait(thread.id, thread.graph, {
      input: { messages: [{ role: "user", content: "hello" }] },
    });
    const [, calls] = await thread.messages();
    // The hook repairs what the model gets, not what is stored.
    expect((await thread.messages()).map(({ type }) => type)).toEqual(["human", "ai", "human", "ai"]);
    const late = (Reflect.get(calls ?? {}, "tool_calls") as { id: string }[]).map(({ id }) => ({
      role: "tool",
      content: `late ${id}`,
      tool_call_id: id,
    }));
    await thread.client.threads.updateState(thread.id, { values: { messages: late.toReversed() } });
    expect((await thread.script()).slice(1)).toEqual([
      "ai> heedful deaf",
      ...late.map(({ content }) => `tool: ${content}`),
      ...goneOn,
    ]);
    await thread.expectToGoOn();
  });
});

describe.concurrent("an agent under a supervisor", () => {
  it("is asked again after a cancelled run", async () => {
    const thread = await served.thread("supervised_agent");
    await cancelBatch(thread, "supervised");
    const [before] = await thread.script();
    expect(before).toBe(`human: ${batchOf("supervised")}`);
    expect((await thread.send("hello")).slice(-2)).toEqual(["human: hello", "ai: The worker has done it."]);
    const lines = await thread.send('call deaf {"label": "supervised again"}');
    expect(lines.at(-1)).toBe("ai: The worker has done it.");
    expect(begun("supervised again")).toHaveLength(1);
  });
});

// The middleware beside others of LangChain and deepagents, on a server, behind providers that refuse a bad history.

describe.concurrent("beside humanInTheLoopMiddleware", () => {
  const question = 'call deaf {"label": "asked"} and call heedful {"label": "free"}';

  it.each([
    ["approve", ["tool: heedful done free", "tool: deaf done asked again"]],
    // LangChain asks the model at once, without a run of the other call.
    [
      "reject",
      [expect.stringMatching(/^tool! Tool call heedful/), expect.stringMatching(/^tool! User rejected/)],
    ],
  ])("a decision leaves a mixed batch sound: %s", async (type, results) => {
    const thread = await served.thread("create_agent_asking");
    await thread.client.runs.wait(thread.id, thread.graph, {
      input: { messages: [{ role: "user", content: question.replace("asked", "asked again") }] },
    });
    await thread.client.runs.wait(thread.id, thread.graph, {
      command: { resume: { decisions: [{ type }] } },
    });
    // LangChain puts the calls that need approval after the others.
    expect((await thread.script()).slice(1, 4)).toEqual(["ai> heedful deaf", ...results]);
    expect((await thread.send("hello")).at(-1)).toBe("ai: I read: hello");
  });
});
