import { interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { interruptsOf, isLangGraphSignal } from "../../src/providers/failure/langgraph-signal.js";
import { inThread, oneNode, say } from "../support/plain-graph.js";

describe("a control-flow error of LangGraph", () => {
  it("is thrown by `interrupt`, and contains the question", async () => {
    let thrown: unknown;
    const ask = () => {
      try {
        interrupt("may I?");
      } catch (error) {
        thrown = error;
        throw error;
      }
    };
    await oneNode(ask, new MemorySaver()).invoke(say("hi"), inThread);
    expect(isLangGraphSignal(thrown)).toBe(true);
    expect(interruptsOf(thrown)).toEqual([expect.objectContaining({ value: "may I?" })]);
  });

  it.each([null, undefined, "text", [], {}, new Error("an error")])("is not %j", (thrown) => {
    expect(isLangGraphSignal(thrown)).toBe(false);
    expect(interruptsOf(thrown)).toEqual([]);
  });
});
