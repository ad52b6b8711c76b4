import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { RunHandle, RunRecord, runHandleOf } from "../../src/agent/run/handle.js";
import { NO_OWN_STATE } from "../../src/threads/own-state.js";
import { checkpointsOf } from "../../src/threads/saver/run-checkpoints.js";
import { RunTally } from "../../src/threads/usage.js";
import { oneNode } from "../support/plain-graph.js";
import { inThread, user } from "../support/thread.js";

const asked = [new HumanMessage({ id: "h", content: "go" })];
const answer = new AIMessage({ id: "a", content: "done" });

const begin = (step: number | undefined, messages: BaseMessage[]) => (record: RunRecord) =>
  record.beginStep(step, { messages });
const write = (record: RunRecord) => record.addWrites([{ messages: [answer] }]);
const interrupted = (record: RunRecord) => record.interrupts.push({ value: "may I?" });

it.each<[title: string, steps: ((record: RunRecord) => unknown)[], ids: string[] | undefined]>([
  ["unknown before the run has begun", [], undefined],
  ["what a run without a step began with", [begin(undefined, asked)], ["h"]],
  ["that with the writes of the last step", [begin(undefined, []), begin(3, asked), write], ["h", "a"]],
  ["that with the writes of every task of a step", [begin(3, asked), write, begin(3, asked)], ["h", "a"]],
  ["replaced by what the next step begins with", [begin(3, []), write, begin(4, asked)], ["h"]],
  ["that without a step that an interrupt ended", [begin(3, asked), write, interrupted], ["h"]],
])("The history that a run ends with is %s.", (_title, steps, ids) => {
  const record = new RunRecord();
  for (const step of steps) step(record);
  expect(record.history?.map(({ id }) => id)).toEqual(ids);
  // It is reduced once, and not copied without a write.
  expect(record.history).toBe(record.history);
  if (ids?.length === 1) expect(record.history).toBe(asked);
});

it("The first step of a run is that of its first node.", () => {
  const record = new RunRecord();
  begin(undefined, asked)(record);
  expect(record.firstStep).toBeUndefined();
  begin(7, asked)(record);
  begin(8, asked)(record);
  expect(record.firstStep).toBe(7);
});

const handle = new RunHandle({
  tally: new RunTally("run"),
  bag: { metadata: {} },
  middleware: { agent: [], chat: [], function: [] },
  input: { messages: [] },
  ownState: NO_OWN_STATE,
  checkpoints: checkpointsOf(undefined),
  maxConcurrency: 1,
  isInTool: false,
  isEdit: false,
  hasLateResult: false,
  namesCheckpoint: false,
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
