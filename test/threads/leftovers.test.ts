import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type CheckpointTuple, emptyCheckpoint } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { findLeftovers } from "../../src/threads/ended-runs/leftovers.js";
import type { RunCheckpoints } from "../../src/threads/saver/run-checkpoints.js";
import { recover } from "../support/internals.js";
import { ai, human, placeholder } from "../support/make-messages.js";

const batch = ai("a", "1", "2", "3");
/** A result without an id, as tools write it. */
const resultOf = (callId: string, content = `result ${callId}`) =>
  new ToolMessage({ content, tool_call_id: callId });

interface Saved {
  readonly source: "input" | "loop" | "update";
  readonly writes: readonly unknown[];
}

/**
 * The content of a checkpoint. A step of the loop applies the writes of the previous checkpoint; an input discards
 * them.
 */
function storedMessages(saved: readonly Saved[]): unknown[] {
  const [newest, ...older] = saved;
  const before = older[0];
  if (newest === undefined || before === undefined) return [];
  return [...storedMessages(older), ...(newest.source === "input" ? [] : before.writes.flat())];
}

/** A chain of checkpoints, the newest first, with the messages that their tasks wrote. */
function chain(...saved: readonly Saved[]): { checkpoints: RunCheckpoints; reads: string[] } {
  const reads: string[] = [];
  const tuples = saved.map(({ source, writes }, index): CheckpointTuple => {
    const configOf = (place: number) => ({ configurable: { thread_id: "1", checkpoint_id: String(place) } });
    return {
      config: configOf(index),
      checkpoint: {
        ...emptyCheckpoint(),
        id: String(index),
        channel_values: { messages: storedMessages(saved.slice(index)) },
      },
      metadata: { source, step: saved.length - index, parents: {} },
      pendingWrites: writes.map((value, task) => [`task ${task}`, "messages", value]),
      ...(index + 1 < saved.length ? { parentConfig: configOf(index + 1) } : {}),
    };
  });
  const checkpoints: RunCheckpoints = {
    begunOn: tuples[0],
    isFork: false,
    saved: undefined,
    savedStep: undefined,
    savesAtOnce: false,
    whenSent: async () => undefined,
    readBefore: undefined,
    read: async (config) => {
      const id = String(config.configurable?.["checkpoint_id"]);
      reads.push(id);
      return tuples[Number(id)];
    },
  };
  return { checkpoints, reads };
}

const loop = (...writes: unknown[]): Saved => ({ source: "loop", writes });
const input = (...writes: unknown[]): Saved => ({ source: "input", writes });

/** The contents that are found for the calls without a result. */
async function harvest(history: readonly BaseMessage[], checkpoints: RunCheckpoints) {
  const leftovers = await findLeftovers({ input: { messages: [] }, checkpoints, isOwnKey: () => false });
  const { calls } = recover(history, { runs: leftovers }, { putsBack: "none", asksAtOnce: true });
  return calls.map(({ remains: one }) =>
    one?.kind === "result" ? one.result.text : one && `? ${one.asked.name}`,
  );
}

describe("the leftovers of ended runs", () => {
  const history = [human("h"), batch, human("next")];

  it("reads results in whatever form they were written", async () => {
    const plain = { type: "tool", content: "plain", tool_call_id: "2" };
    const { checkpoints } = chain(loop(resultOf("1"), plain, [[]], null, "text"), loop([batch]));
    expect(await harvest(history, checkpoints)).toEqual(["result 1", "plain", undefined]);
  });

  it("leaves a placeholder where it is", async () => {
    const { checkpoints } = chain(loop([placeholder("p", "1")]), loop([batch]));
    expect(await harvest(history, checkpoints)).toEqual([undefined, undefined, undefined]);
  });

  it("does not read further than the checkpoint that made the calls", async () => {
    const { checkpoints, reads } = chain(
      loop([resultOf("2")]),
      loop([batch]),
      input([human("h")]),
      loop([resultOf("1", "of another turn")]),
    );
    expect(await harvest(history, checkpoints)).toEqual([undefined, "result 2", undefined]);
    expect(reads).toEqual([]);
  });

  it("gives one result to only one call if a group uses an id twice", async () => {
    const twice = [ai("a", "1", "1"), human("next")];
    const { checkpoints } = chain(loop([resultOf("1", "once")]), loop([ai("a", "1", "1")]));
    expect(await harvest(twice, checkpoints)).toEqual(["once", undefined]);
  });

  it("gives a result to the latest of several groups with calls of its id", async () => {
    const reused = [ai("a", "1"), human("between"), ai("b", "1"), human("next")];
    const { checkpoints } = chain(loop([resultOf("1", "of b")]), loop([ai("b", "1")]));
    expect(await harvest(reused, checkpoints)).toEqual([undefined, "of b"]);
  });

  it("ignores an applied result: if it is missing, somebody removed it", async () => {
    const { checkpoints } = chain(
      { source: "update", writes: [] },
      loop(new AIMessage({ id: "b", content: "done" })),
      loop([resultOf("1")], [resultOf("2")], [resultOf("3")]),
      loop([batch]),
    );
    expect(await harvest(history, checkpoints)).toEqual([undefined, undefined, undefined]);
  });
});

it("Two runs that asked about equal calls of one message have each asked about one of them", () => {
  const asked = { name: "tool", args: {} };
  const tool_calls = ["1", "2"].map((id) => ({ ...asked, id }));
  const history = [human("h"), new AIMessage({ id: "a", content: "", tool_calls })];
  const left = {
    history,
    written: [],
    nodes: [],
    unstarted: [],
    late: [],
    headId: undefined,
    checkpointId: "0",
    removed: new Set<string>(),
    interrupts: [{ value: { actionRequests: [asked] } }],
  };
  const causes = (leftovers: readonly (typeof left)[]) =>
    recover(history, { runs: leftovers }, { putsBack: "none", asksAtOnce: true }).calls.map(
      ({ cause }) => cause,
    );
  expect(causes([left])).toEqual(["unrecorded", "declined"]);
  expect(causes([left, left])).toEqual(["declined", "declined"]);
});

describe("a response with calls whose question was edited", () => {
  const left = {
    history: [human("h")],
    removed: new Set<string>(),
    late: [],
    nodes: [],
    unstarted: [],
    interrupts: [],
    headId: "h",
    checkpointId: "0",
  };
  const edited = new HumanMessage({ id: "h", content: "other words" });
  const idsWith = (...written: BaseMessage[]) =>
    recover([edited], { runs: [{ ...left, written }] }, { putsBack: "all", asksAtOnce: true }).returned.map(
      ({ id }) => id,
    );

  it("is put back if one of its tools has returned something", () => {
    expect(idsWith(batch, resultOf("2"))).toEqual(["a"]);
  });

  it("is left out if none has", () => {
    expect(idsWith(batch, placeholder("p", "1"))).toEqual([]);
  });
});
