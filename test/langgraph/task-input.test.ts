import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { Command, getCurrentTaskInput, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { withTaskInput } from "../../src/threads/langgraph/wrappable-graph.js";
import { inThread, oneNode, say } from "../support/plain-graph.js";

describe("the input of a task", () => {
  it("is what `getCurrentTaskInput()` returns, and can be replaced", async () => {
    const inputs: unknown[] = [];
    const graph = oneNode((_, config) => {
      inputs.push(getCurrentTaskInput(config), getCurrentTaskInput(withTaskInput(config, "other")));
    });
    await graph.invoke(say("hi"));
    expect(inputs).toEqual([expect.objectContaining({ messages: expect.anything() }), "other"]);
  });

  it("shares the count of interrupts with the task", async () => {
    const answers: unknown[] = [];
    const graph = oneNode((_, config) => {
      const ask = (text: string) => interrupt(text);
      answers.push(
        AsyncLocalStorageProviderSingleton.runWithConfig(withTaskInput(config, "other"), () => ask("first?")),
        ask("second?"),
      );
    }, new MemorySaver());
    await graph.invoke(say("hi"), inThread);
    await graph.invoke(new Command({ resume: "one" }), inThread);
    await graph.invoke(new Command({ resume: "two" }), inThread);
    expect(answers).toEqual(["one", "two"]);
  });

  it("stays the same outside of a graph", () => {
    const config = { configurable: {} };
    expect(withTaskInput(config, "other")).toBe(config);
  });
});
