import { type Command, END, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type AgentEvent, createAgentGraph } from "../../../src/index.js";
import {
  approvalThread,
  approve,
  asInput,
  askedLabels,
  edit,
  reject,
  respond,
} from "../../support/approval-graph.js";
import { calls } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";

const batch = () => calls(["free", { label: "1" }], ["risky", { label: "2" }], ["risky", { label: "3" }]);
const declined = (id: unknown) => `tool! Tool call risky (${id}): it was not approved, so it was not run.`;

async function callIds(thread: ReturnType<typeof approvalThread>): Promise<unknown[]> {
  const [, asking] = await thread.messages();
  return (Reflect.get(Object(asking), "tool_calls") as { id: unknown }[]).map(({ id }) => id);
}

describe("a message that comes instead of an answer", () => {
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

  it.each([
    { decision: approve, result: "tool: risky did 2", ran: ["free:1", "risky:2"] },
    { decision: edit({ label: "two" }), result: "tool: risky did two", ran: ["free:1", "risky:two"] },
    { decision: respond("known"), result: "tool: known", ran: ["free:1"] },
    {
      decision: reject("no"),
      result: "tool! Error: `risky` was not approved, so it was not run. Reason: no",
      ran: ["free:1"],
    },
  ])(
    "keeps what a part of the answer has decided before: $decision.type",
    async ({ decision, result, ran }) => {
      const thread = approvalThread([batch(), "the end"]);
      await thread.say("go");
      const [, , third] = await callIds(thread);
      await thread.decide(decision);
      await thread.say("enough");
      expect(await thread.pairedScript()).toEqual([
        "ai> free risky risky",
        "tool: free did 1",
        result,
        declined(third),
        "human: enough",
        "ai: the end",
      ]);
      expect(thread.runs.toSorted()).toEqual(ran);
    },
  );

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

  it("tells of each call that it closes", async () => {
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

describe("a Command without an answer runs no tool again:", () => {
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

  it("may get their results when the others have theirs", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    expect(askedLabels(await thread.say("go"))).toEqual(["2"]);
    const [opened] = await callIds(thread);
    await thread.decide(approve);
    expect(await thread.script()).toEqual([done[0], ...done.slice(2, 4)]);
    await thread.run(result(opened));
    expect(await thread.pairedScript()).toEqual(done);
    expect(thread.runs.toSorted()).toEqual(["free:1", "risky:2"]);
  });

  it("may get them before: what waits for approval is asked about again", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    await thread.say("go");
    const [opened] = await callIds(thread);
    expect(askedLabels(await thread.run(result(opened)))).toEqual(["2"]);
    await thread.decide(approve);
    expect(await thread.pairedScript()).toEqual(done);
    expect(thread.runs.toSorted()).toEqual(["free:1", "risky:2"]);
  });

  it("may get them with the answer", async () => {
    const thread = approvalThread([mixed(), "the end"], { additionalTools });
    await thread.say("go");
    const [opened] = await callIds(thread);
    await thread.run(asInput({ resume: { decisions: [approve] }, update: result(opened) }));
    expect(await thread.pairedScript()).toEqual(done);
  });

  it("are not a way to have another call approved than the model has made", async () => {
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
      'Expected `requireApproval` to be names of tools (there is none), got `"open"`.',
    );
  });
});
