import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { RunRecord } from "../../../src/agent/run-handle.js";

const asked = [new HumanMessage({ id: "h", content: "go" })];
const answer = new AIMessage({ id: "a", content: "done" });
const idsOf = ({ history }: RunRecord) => history?.map(({ id }) => id);

describe("the history that a run ends with", () => {
  it("is unknown before the run has begun", () => {
    expect(new RunRecord().history).toBeUndefined();
  });

  it("is what a run without a step began with", () => {
    const record = new RunRecord();
    record.beginRun({ messages: asked });
    expect(record.history).toBe(asked);
  });

  it("has what the last step wrote, reduced once", () => {
    const record = new RunRecord();
    record.beginRun({ messages: [] });
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
    record.beginRun({ messages: asked });
    expect(record.firstStep).toBeUndefined();
    record.beginStep(7, { messages: asked });
    record.beginStep(8, { messages: asked });
    expect(record.firstStep).toBe(7);
  });
});
