import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { RunHandle, RunRecord, runHandleOf } from "../../src/agent/run-handle.js";
import { NO_OWN_STATE } from "../../src/threads/own-state.js";
import { checkpointsOf } from "../../src/threads/run-saver.js";
import { oneNode } from "../support/plain-graph.js";
import { inThread, user } from "../support/thread.js";

const asked = [new HumanMessage({ id: "h", content: "go" })];
const answer = new AIMessage({ id: "a", content: "done" });
const idsOf = ({ history }: RunRecord) => history?.map(({ id }) => id);

describe("the history that a run ends with", () => {
  it("is unknown before the run has begun", () => {
    expect(new RunRecord().history).toBeUndefined();
  });

  it("is what a run without a step began with", () => {
    const record = new RunRecord();
    record.beginStep(undefined, { messages: asked });
    expect(record.history).toBe(asked);
  });

  it("has what the last step wrote, reduced once", () => {
    const record = new RunRecord();
    record.beginStep(undefined, { messages: [] });
    record.beginStep(3, { messages: asked });
    record.addWrites([{ messages: [answer] }]);
    expect(idsOf(record)).toEqual(["h", "a"]);
    expect(record.history).toBe(record.history);
  });

  it("has the writes of every task of a step, whichever task began last", () => {
    const record = new RunRecord();
    record.beginStep(3, { messages: asked });
    record.addWrites([{ messages: [answer] }]);
    record.beginStep(3, { messages: asked });
    expect(idsOf(record)).toEqual(["h", "a"]);
  });

  it("is replaced by what the next step begins with", () => {
    const record = new RunRecord();
    record.beginStep(3, { messages: [] });
    record.addWrites([{ messages: [answer] }]);
    record.beginStep(4, { messages: asked });
    expect(record.history).toBe(asked);
  });

  it("has nothing of a step that an interrupt ended", () => {
    const record = new RunRecord();
    record.beginStep(3, { messages: asked });
    record.addWrites([{ messages: [answer] }]);
    record.interrupts.push({ value: "may I?" });
    expect(record.history).toBe(asked);
  });
});

describe("the first step of a run", () => {
  it("is that of its first node", () => {
    const record = new RunRecord();
    record.beginStep(undefined, { messages: asked });
    expect(record.firstStep).toBeUndefined();
    record.beginStep(7, { messages: asked });
    record.beginStep(8, { messages: asked });
    expect(record.firstStep).toBe(7);
  });
});

const handle = new RunHandle({
  bag: { metadata: {} },
  middleware: { agent: [], chat: [], function: [] },
  input: { messages: [] },
  late: undefined,
  ownState: NO_OWN_STATE,
  checkpoints: checkpointsOf(undefined),
  maxConcurrency: 1,
  isInTool: false,
  endsAfterInput: false,
});

describe("the handle of a run", () => {
  it("reaches every task, and no checkpoint", async () => {
    const saver = new MemorySaver();
    const found: unknown[] = [];
    const graph = oneNode((_, config) => void found.push(runHandleOf(config)), saver);
    await graph.invoke(user("hi"), {
      configurable: { ...inThread("1").configurable, ...handle.toConfigurable() },
    });
    expect(found).toEqual([handle]);
    const tuple = await saver.getTuple(inThread("1"));
    expect(JSON.stringify(tuple?.metadata)).toContain("source");
    expect(JSON.stringify(tuple)).not.toContain("tether");
  });

  it("cannot be made by a client", () => {
    const [name = ""] = Object.keys(handle.toConfigurable());
    expect(runHandleOf({ configurable: { [name]: { ...handle } } })).toBeUndefined();
  });
});
