import { getEventListeners } from "node:events";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { holdAbort } from "../../src/threads/langgraph/abort.js";
import { inThread, oneNode } from "../support/plain-graph.js";

it("A graph of LangGraph tells the caller of an abort before its last writes have ended", async () => {
  const abort = new AbortController();
  const saver = new MemorySaver();
  const put = saver.put.bind(saver);
  let save = () => {};
  const saving = new Promise<void>((resolve) => {
    save = resolve;
  });
  let pending = 0;
  saver.put = async (...given) => {
    pending += 1;
    await saving;
    pending -= 1;
    return put(...given);
  };
  const graph = oneNode(() => {
    abort.abort();
    return {};
  }, saver);
  const run = graph.invoke({ messages: [] }, { ...inThread, signal: abort.signal });
  await expect(run).rejects.toThrow(/abort/i);
  expect(pending).toBeGreaterThan(0);
  save();
});

it("A run that has ended listens to no signal", () => {
  const caller = new AbortController();
  const { signal, end } = holdAbort({ signal: caller.signal });
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  end();
  expect([signal, caller.signal].flatMap((each) => getEventListeners(each, "abort"))).toEqual([]);
});

it("A run that ends after its abort tells of it, with its reason", () => {
  const abort = new AbortController();
  const { options, signal, end } = holdAbort({ signal: abort.signal });
  abort.abort("why");
  expect([signal.aborted, signal.reason, options.signal?.aborted]).toEqual([true, "why", false]);
  end();
  expect(options.signal?.reason).toBe("why");
});

it("An abort after the end of a run tells nobody", () => {
  const abort = new AbortController();
  const { options, end } = holdAbort({ signal: abort.signal });
  end();
  abort.abort();
  expect(options.signal?.aborted).toBe(false);
});

it("A timeout becomes a part of the signal, and stays in the metadata", () => {
  const { options } = holdAbort({ timeout: 60_000, metadata: { own: 1 } });
  expect(options.timeout).toBeUndefined();
  expect(options.metadata).toEqual({ timeoutMs: 60_000, own: 1 });
  expect(holdAbort({ timeout: -1 }).options.timeout).toBe(-1);
});
