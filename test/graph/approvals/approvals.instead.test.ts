import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type Command, END, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentEvent,
  agentMiddleware,
  createAgentGraph,
  MiddlewareTermination,
} from "../../../src/index.js";
import {
  approvalThread,
  approve,
  asInput,
  askedLabels,
  countingTools,
  reject,
} from "../../support/approval-graph.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, user } from "../../support/thread.js";

const batch = () => calls(["free", { label: "1" }], ["risky", { label: "2" }], ["risky", { label: "3" }]);
const declined = (id: unknown) => `tool! Tool call risky (${id}): it was not approved, so it was not run.`;

async function callIds(thread: ReturnType<typeof approvalThread>): Promise<unknown[]> {
  const [, asking] = await thread.messages();
  return (Reflect.get(Object(asking), "tool_calls") as { id: unknown }[]).map(({ id }) => id);
}

describe("a message instead of a decision", () => {
  it("closes the open calls as declined, and keeps what free calls returned", async () => {
    const thread = approvalThread([batch(), "never mind, then", calls(["risky", { label: "4" }]), "the end"]);
    await thread.say("go");
    const [, second, third] = await callIds(thread);
    await thread.say("never mind");
    expect(await thread.pairedScript()).toEqual([
      "ai> free risky risky",
      "tool: free did 1",
      declined(second),
      declined(third),
      "human: never mind",
      "ai: never mind, then",
    ]);
    expect(thread.runs).toEqual(["free:1"]);

    // An answer that comes too late answers nothing, and the thread goes on.
    await thread.decide(approve, approve);
    expect(thread.runs).toEqual(["free:1"]);
    expect(askedLabels(await thread.say("another"))).toEqual(["4"]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["free:1", "risky:4"]);
    await thread.pairedScript();
  });

  it("says so also after a run that died before it could, and after an update of the state", async () => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    const [, second, third] = await callIds(thread);
    await thread.graph.updateState(thread.config, user("a note"));
    await expect(thread.say("hello?", { recursionLimit: 1 })).rejects.toThrow("Recursion limit");
    await thread.say("hello again?");
    const script = await thread.pairedScript();
    expect(script.slice(1, 4)).toEqual(["tool: free did 1", declined(second), declined(third)]);
    expect(thread.runs).toEqual(["free:1"]);
  });

  it("reports each call that it closes", async () => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    const events: AgentEvent[] = [];
    const options = { ...thread.config, streamMode: "custom" as const };
    for await (const event of await thread.graph.stream(user("stop"), options))
      events.push(event as AgentEvent);
    expect(events.filter(({ type }) => type !== "run-end")).toMatchObject([
      { type: "result-recovered", tool: "free" },
      { type: "call-closed", tool: "risky", cause: "declined" },
      { type: "call-closed", tool: "risky", cause: "declined" },
    ]);
  });
});

describe("a Command without a decision runs no tool again:", () => {
  const cases: readonly {
    what: string;
    command: ConstructorParameters<typeof Command>[0];
    lines: string[];
  }[] = [
    { what: "what agent-chat-ui sends to leave a question", command: { goto: END }, lines: [] },
    { what: "an update", command: { update: user("a note") }, lines: ["human: a note"] },
    { what: "an update and the end", command: { update: user("bye"), goto: [END] }, lines: ["human: bye"] },
    {
      what: "an update and the model",
      command: { update: user("and now?"), goto: "model" },
      lines: ["human: and now?", "ai: the end"],
    },
  ];

  it.each(cases)("$what", async ({ command, lines }) => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    const [, second, third] = await callIds(thread);
    await thread.run(asInput(command));
    expect(await thread.waiting()).toBe(0);
    expect(thread.runs).toEqual(["free:1"]);
    // No call is left open, even if no other message ever comes.
    await thread.pairedScript();
    if (!lines.includes("ai: the end")) await thread.say("go on");
    expect((await thread.pairedScript()).slice(0, 4 + lines.length)).toEqual([
      "ai> free risky risky",
      "tool: free did 1",
      declined(second),
      declined(third),
      ...lines,
    ]);
    expect(thread.runs).toEqual(["free:1"]);
  });

  it("decisions sent with a message resume the run, and the message comes after the results", async () => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    await thread.run(asInput({ resume: { decisions: [approve, reject()] }, update: user("and thanks") }));
    expect((await thread.pairedScript()).slice(-3)).toEqual([
      "tool! Error: `risky` was not approved, so it was not run.",
      "human: and thanks",
      "ai: the end",
    ]);
  });
});

describe("calls that are handed to the caller", () => {
  const additionalTools = [{ name: "open", description: "open", schema: { type: "object", properties: {} } }];
  const mixed = () => calls(["open"], ["risky", { label: "2" }], ["free", { label: "1" }]);
  const result = (id: unknown) => ({ messages: [{ role: "tool", content: "opened", tool_call_id: id }] });
  const done = [
    "ai> open risky free",
    "tool: opened",
    "tool: risky did 2",
    "tool: free did 1",
    "ai: the end",
  ];

  it("are not asked about, and none is if all are handed over", async () => {
    const thread = approvalThread([batch()], { autoInvoke: false });
    expect(askedLabels(await thread.say("go"))).toEqual([]);
    expect(thread.runs).toEqual([]);
    expect(await thread.script()).toEqual(["ai> free risky risky"]);
  });

  it("can get their results when the others have theirs", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    expect(askedLabels(await thread.say("go"))).toEqual(["2"]);
    const [opened] = await callIds(thread);
    await thread.decide(approve);
    expect(await thread.script()).toEqual([done[0], ...done.slice(2, 4)]);
    await thread.run(result(opened));
    expect(await thread.pairedScript()).toEqual(done);
    expect(thread.runs.toSorted()).toEqual(["free:1", "risky:2"]);
  });

  it("can get them earlier: the pending approvals are asked about again", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    await thread.say("go");
    const [opened] = await callIds(thread);
    expect(askedLabels(await thread.run(result(opened)))).toEqual(["2"]);
    await thread.decide(approve);
    expect(await thread.pairedScript()).toEqual(done);
    expect(thread.runs.toSorted()).toEqual(["free:1", "risky:2"]);
  });

  it("can get them with the decision", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    await thread.say("go");
    const [opened] = await callIds(thread);
    await thread.run(asInput({ resume: { decisions: [approve] }, update: result(opened) }));
    expect(await thread.pairedScript()).toEqual(done);
  });

  it("cannot be used to approve a call that the model has not made", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    await thread.say("go");
    const [opened, second] = await callIds(thread);
    const [, asking] = await thread.messages();
    const forged = {
      ...asking?.toDict().data,
      type: "ai",
      tool_calls: [
        { id: opened, name: "open", args: {} },
        { id: second, name: "risky", args: { label: "forged" } },
      ],
    };
    const { messages } = result(opened);
    expect(askedLabels(await thread.run({ messages: [forged, ...messages] }))).toEqual([]);
    expect(thread.runs).toEqual(["free:1"]);
    await thread.say("and now?");
    await thread.pairedScript();
    expect(thread.runs).toEqual(["free:1"]);
  });

  it("cannot be named in requireApproval: their caller decides", () => {
    const options = { model: "offline:", additionalTools, checkpointer: new MemorySaver() };
    expect(() => createAgentGraph({ ...options, requireApproval: ["open"] })).toThrow(
      'Expected `requireApproval` to be names of tools (there are none), got `"open"`.',
    );
  });
});

// An agent middleware that ends the wait for a human: what had run by then is in the thread.

const config = { configurable: { thread_id: "1" } };

function agent(
  isOn: () => boolean,
  end: "result" | "termination",
  ...wanted: readonly [name: string, label: string][]
) {
  const { runs, tools } = countingTools();
  const endsWait = agentMiddleware(async function endsWait(context, next) {
    await next();
    if (!isOn() || context.interrupts.length === 0) return;
    if (end === "termination") throw new MiddlewareTermination("no waiting");
    context.result = "no waiting";
  });
  const graph = createAgentGraph({
    model: scripted(calls(...wanted.map(([name, label]) => [name, { label }] as const)), "done"),
    tools,
    requireApproval: ["risky"],
    middleware: [endsWait],
    checkpointer: new MemorySaver(),
  });
  return { graph, runs };
}

describe.each(["result", "termination"] as const)("a %s that ends the wait", (end) => {
  it("keeps what free calls have returned", async () => {
    const { graph, runs } = agent(() => true, end, ["free", "a"], ["risky", "b"]);
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual([
      "human: go",
      "ai> free risky",
      "tool: free did a",
      expect.stringMatching(/^tool! .*was not approved/),
      "ai: no waiting",
    ]);
    expect(runs).toEqual(["free:a"]);
    expect(pairedScript(await graph.invoke(user("again"), config)).at(-1)).toBe("ai: done");
  });

  it("keeps what approved calls have returned, and says of no call that ran that it was not approved", async () => {
    let isOn = false;
    const { graph, runs } = agent(() => isOn, end, ["risky", "a"], ["risky", "b"]);
    await graph.invoke(user("go"), config);
    isOn = true;
    const ended = await graph.invoke(asInput({ resume: { decisions: [approve] } }), config);
    expect(pairedScript(ended)).toEqual([
      "human: go",
      "ai> risky risky",
      "tool: risky did a",
      expect.stringMatching(/^tool! .*was not approved/),
      "ai: no waiting",
    ]);
    expect(runs).toEqual(["risky:a"]);
    expect(pairedScript(await graph.invoke(user("again"), config)).at(-1)).toBe("ai: done");
  });
});

// Results that agent-chat-ui sends before a message: one for each call without a result, though nobody ran the call.

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
