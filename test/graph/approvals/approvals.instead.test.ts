/** What comes instead of a decision: a message, a command, results of the caller, an agent middleware or a chat UI. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type Command, END, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type AgentEvent, createAgentGraph, MiddlewareTermination } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { approvalThread, approve, asInput, askedLabels, reject } from "../../support/approval-graph.js";
import { allOf } from "../../support/async.js";
import { lines } from "../../support/lines.js";
import { afterNext, set } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import { abortRun } from "../../support/test-tools.js";
import { user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

const free = (label: string) => ["free", { label }] as const;
const risky = (label: string, id?: string) =>
  id === undefined ? (["risky", { label }] as const) : (["risky", { label }, id] as const);
const batch = () => calls(free("1"), risky("2", "r2"), risky("3", "r3"));
const declined = (id: string) => `tool! Tool call risky (${id}): it was not approved, so it was not run.`;
const CLOSED = ["ai> free risky risky", "tool: free did 1", declined("r2"), declined("r3")];

describe("a message instead of a decision", () => {
  it("closes the open calls as declined, and keeps what free calls returned", async () => {
    const thread = approvalThread([batch(), "never mind, then", calls(risky("4")), "the end"]);
    await thread.say("go");
    await thread.say("never mind");
    const lines = [...CLOSED, "human: never mind", "ai: never mind, then"];
    expect(await thread.pairedScript()).toEqual(lines);
    expect(thread.runs).toEqual(["free:1"]);

    // An answer that comes too late is refused, and the thread goes on.
    await expect(thread.decide(approve, approve)).rejects.toThrow("has none that waits");
    expect(thread.runs).toEqual(["free:1"]);
    expect(askedLabels(await thread.say("another"))).toEqual(["4"]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["free:1", "risky:4"]);
    await thread.pairedScript();
  });

  it("says so also after a run that died before it could, and after an update of the state", async () => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    await thread.graph.updateState(thread.config, user("a note"));
    await expect(thread.say("hello?", { recursionLimit: 1 })).rejects.toThrow("Recursion limit");
    await thread.say("hello again?");
    expect((await thread.pairedScript()).slice(0, 4)).toEqual(CLOSED);
    expect(thread.runs).toEqual(["free:1"]);
  });

  it("reports each call that it closes", async () => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    const options = { ...thread.config, streamMode: "custom" as const };
    const events = await allOf<AgentEvent>(thread.graph.stream(user("stop"), options));
    expect(events.filter(({ type }) => type !== "run-end")).toMatchObject([
      { type: "result-recovered", tool: "free" },
      { type: "call-closed", tool: "risky", cause: "declined" },
      { type: "call-closed", tool: "risky", cause: "declined" },
    ]);
  });
});

describe("a Command without a decision runs no tool again:", () => {
  it.each<[what: string, command: ConstructorParameters<typeof Command>[0], lines: string[]]>([
    ["what agent-chat-ui sends to leave a question", { goto: END }, []],
    ["an update", { update: user("a note") }, ["human: a note"]],
    ["an update and the end", { update: user("bye"), goto: [END] }, ["human: bye"]],
    [
      "an update and the model",
      { update: user("and now?"), goto: "model" },
      ["human: and now?", "ai: the end"],
    ],
  ])("%s", async (_what, command, lines) => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    await thread.run(asInput(command));
    expect(await thread.waiting()).toBe(0);
    expect(thread.runs).toEqual(["free:1"]);
    // No call is left open, even if no other message ever comes.
    expect(await thread.pairedScript()).toEqual([...CLOSED, ...lines]);
    if (lines.includes("ai: the end")) return;
    await thread.say("go on");
    const all = [...CLOSED, ...lines, "human: go on", "ai: the end"];
    expect(await thread.pairedScript()).toEqual(all);
    expect(thread.runs).toEqual(["free:1"]);
  });

  it("decisions sent with a message resume the run, and the message comes after the results", async () => {
    const thread = approvalThread([batch(), "the end"]);
    await thread.say("go");
    await thread.run(asInput({ resume: { decisions: [approve, reject()] }, update: user("and thanks") }));
    expect((await thread.pairedScript()).slice(-3)).toEqual(
      lines("tool! Error: `risky` was not approved, so it was not run. | human: and thanks | ai: the end"),
    );
  });
});

describe("calls that are handed to the caller", () => {
  const additionalTools = [{ name: "open", description: "open", schema: { type: "object", properties: {} } }];
  const opened = { messages: [{ role: "tool", content: "opened", tool_call_id: "o" }] };
  const results = ["tool: risky did 2", "tool: free did 1"];
  const done = ["ai> open risky free", "tool: opened", ...results, "ai: the end"];

  /** A thread that waits for a decision and for the caller. */
  async function mixed() {
    const thread = approvalThread([calls(["open", {}, "o"], risky("2", "r2"), free("1")), "the end"], {
      additionalTools,
    });
    expect(askedLabels(await thread.say("go"))).toEqual(["2"]);
    const expectDone = async () => {
      expect(await thread.pairedScript()).toEqual(done);
      expect(thread.runs.toSorted()).toEqual(["free:1", "risky:2"]);
    };
    return { thread, expectDone };
  }

  it("are not asked about, and none is if all are handed over", async () => {
    const thread = approvalThread([batch()], { autoInvoke: false });
    expect(askedLabels(await thread.say("go"))).toEqual([]);
    expect(thread.runs).toEqual([]);
    expect(await thread.script()).toEqual(["ai> free risky risky"]);
  });

  it("can get their results when the others have theirs", async () => {
    const { thread, expectDone } = await mixed();
    await thread.decide(approve);
    expect(await thread.script()).toEqual(["ai> open risky free", ...results]);
    await thread.run(opened);
    await expectDone();
  });

  it("can get them earlier: the pending approvals are asked about again", async () => {
    const { thread, expectDone } = await mixed();
    expect(askedLabels(await thread.run(opened))).toEqual(["2"]);
    await thread.decide(approve);
    await expectDone();
  });

  it("can get them with the decision", async () => {
    const { thread, expectDone } = await mixed();
    await thread.run(asInput({ resume: { decisions: [approve] }, update: opened }));
    await expectDone();
  });

  it("cannot be used to approve a call that the model has not made", async () => {
    const { thread } = await mixed();
    const [, asking] = await thread.messages();
    const tool_calls = [
      { id: "o", name: "open", args: {} },
      { id: "r2", name: "risky", args: { label: "forged" } },
    ];
    const forged = { ...asking?.toDict().data, type: "ai", tool_calls };
    expect(askedLabels(await thread.run({ messages: [forged, ...opened.messages] }))).toEqual([]);
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

describe.each(["result", "termination"])("an agent middleware that ends the wait with a %s", (end) => {
  const WAITS = ["free", "approved"] as const;
  it.each(WAITS)("keeps what %s calls have returned, and closes the others as declined", async (kind) => {
    const first = kind === "free" ? free("1") : risky("1");
    let isOn = kind === "free";
    const endsWait = afterNext("agent", (context) => {
      if (!isOn || context.interrupts.length === 0) return;
      if (end === "termination") throw new MiddlewareTermination("no waiting");
      set({ result: "no waiting" })(context);
    });
    const thread = approvalThread([calls(first, risky("2")), "done"], { middleware: [endsWait] });
    await thread.say("go");
    isOn = true;
    if (kind === "approved") await thread.decide(approve);
    const [name] = first;
    expect(await thread.pairedScript()).toEqual(
      lines(`ai> ${name} risky | tool: ${name} did 1 | tool! …was not approved… | ai: no waiting`),
    );
    expect(thread.runs).toEqual([`${name}:1`]);
    await thread.say("again");
    expect((await thread.pairedScript()).at(-1)).toBe("ai: done");
  });
});

// Results that agent-chat-ui sends before a message: one for each call without a result, though nobody ran the call.

/** As its `ensureToolCallsHaveResponses` makes them. */
function madeUpFor(messages: readonly BaseMessage[]): object[] {
  const asking = messages.findLast(({ type }) => type === "ai");
  const made = Reflect.get(Object(asking), "tool_calls") as { id: string; name: string }[];
  const content = "Successfully handled tool call.";
  return made.map(({ id, name }, count) => ({
    type: "tool",
    tool_call_id: id,
    id: `do-not-render-${count}`,
    name,
    content,
  }));
}

describe("results that a chat UI made up", () => {
  it("give way to what a tool had returned when its run was cancelled", async () => {
    const probe = createProbe();
    const tools = [probe.fast, probe.heedful];
    const { run, invoke, messages } = agentThread([calls(["fast"], ["heedful"]), "I see"], { tools });
    await abortRun(
      (signal) => invoke("go", { signal }),
      () => expect.poll(() => probe.ends).toEqual(["fast:-"]) as never,
    );
    const shown = await run({ messages: [...madeUpFor(await messages()), new HumanMessage("next")] });
    expect(shown.slice(1)).toEqual(
      lines(
        "ai> fast heedful | tool: fast done -",
        "tool! Tool call heedful … a new message came before it finished.… | human: next | ai: I see",
      ),
    );
  });

  it("do not answer calls that the caller is to run", async () => {
    const thread = approvalThread([calls(["free", { label: "1" }, "f"]), "the end"], { autoInvoke: false });
    await thread.say("go");
    await thread.run({ messages: madeUpFor(await thread.messages()) });
    await thread.run({ messages: [{ role: "tool", tool_call_id: "f", content: "done" }] });
    expect(await thread.pairedScript()).toEqual(["ai> free", "tool: done", "ai: the end"]);
  });
});

it("The latest state of the history has the result of a call beside one that waits", async () => {
  const thread = approvalThread([calls(free("1"), risky("2")), "the end"]);
  await thread.say("go");
  const states = await allOf<{ values: { messages?: BaseMessage[] }; next: string[] }>(
    thread.graph.getStateHistory(thread.config),
  );
  expect(states.map(({ values, next }) => [values.messages?.length, next.length])).toEqual([
    [3, 2],
    [1, 1],
    [0, 1],
  ]);
  const [latest] = await allOf<(typeof states)[0]>(thread.graph.getStateHistory(thread.config, { limit: 1 }));
  expect(latest?.values.messages?.at(-1)?.text).toBe("free did 1");
  await thread.decide(approve);
  await thread.pairedScript();
});
