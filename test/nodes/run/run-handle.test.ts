import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { RunHandle, runHandleOf } from "../../../src/agent/run-handle.js";
import { NO_OWN_STATE } from "../../../src/threads/own-state.js";
import { watchCheckpointer } from "../../../src/threads/watch-checkpointer.js";
import { inThread, oneNode, say } from "../../support/plain-graph.js";

const handle = new RunHandle({
  bag: { metadata: {} },
  middleware: { agent: [], chat: [], function: [] },
  input: { messages: [] },
  ownState: NO_OWN_STATE,
  checkpoints: watchCheckpointer(undefined).checkpoints,
  maxConcurrency: 1,
  isInTool: false,
  endsAfterInput: false,
});

describe("the handle of a run", () => {
  it("reaches every task, and no checkpoint", async () => {
    const saver = new MemorySaver();
    const found: unknown[] = [];
    const graph = oneNode((_, config) => void found.push(runHandleOf(config)), saver);
    await graph.invoke(say("hi"), { configurable: { ...inThread.configurable, ...handle.toConfigurable() } });
    expect(found).toEqual([handle]);
    const tuple = await saver.getTuple(inThread);
    expect(JSON.stringify(tuple?.metadata)).toContain("source");
    expect(JSON.stringify(tuple)).not.toContain("tether");
  });

  it("cannot be made by a client", () => {
    const [name = ""] = Object.keys(handle.toConfigurable());
    expect(runHandleOf({ configurable: { [name]: { ...handle } } })).toBeUndefined();
  });
});
