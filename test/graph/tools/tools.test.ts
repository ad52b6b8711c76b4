import { AIMessageChunk, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { results, returning, schema } from "../../support/batch.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted, type WantedCall } from "../../support/scripted-model.js";
import { pairedMessagesOf, pairedScript, script, user } from "../../support/thread.js";

describe("a call fails", () => {
  it("when the tool throws; the model gets the details only if that is enabled", async () => {
    const probe = createProbe();
    const batch: WantedCall[] = [["failing", { label: "42" }]];
    const [hidden] = await results({ tools: [probe.failing] }, ...batch);
    const [told] = await results({ tools: [probe.failing], includeDetailedErrors: true }, ...batch);
    expect(hidden).toMatchObject({ status: "error", content: "Error: `failing` failed." });
    expect(told).toMatchObject({ status: "error", content: "Error: `failing` failed: secret 42" });
  });

  it.each([["a string"], [undefined], [null], [{ code: 7 }]])("when %j is thrown", async (thrown) => {
    const bad = tool(
      async () => {
        throw thrown;
      },
      { name: "bad", description: "bad", schema: z.object({}) },
    );
    const [result] = await results({ tools: [bad], includeDetailedErrors: true }, ["bad"]);
    expect(result).toMatchObject({ status: "error" });
  });

  it("when the tool does not exist, and the error names it and the existing tools", async () => {
    const probe = createProbe();
    const [result] = await results({ tools: [probe.fast, probe.deaf] }, ["fsat"]);
    expect(result).toMatchObject({ status: "error", name: "fsat" });
    expect(result?.text).toMatch(/`fsat`.*fast, deaf/);
  });

  it.each([
    ["a wrong type", { amount: "3" }, "amount"],
    ["a missing field", {}, "amount"],
    ["a wrong optional field", { amount: 1, note: 4 }, "note"],
  ])("with %s, and the error names the field, and the tool was not run", async (_what, args, field) => {
    const { tool: give, runs } = returning("x");
    const [result] = await results({ tools: [give] }, ["give", args]);
    expect(result).toMatchObject({ status: "error", name: "give" });
    expect(result?.text).toContain(field);
    expect(runs).toEqual([]);
  });

  it("with arguments that are not JSON, and the tool was not run", async () => {
    const { tool: give, runs } = returning("x");
    const broken = new AIMessageChunk({
      content: "",
      tool_call_chunks: [
        { type: "tool_call_chunk", index: 0, id: "bad", name: "give", args: '{"amount": oops' },
        { type: "tool_call_chunk", index: 1, id: "good", name: "give", args: '{"amount": 2}' },
      ],
    });
    expect(broken.invalid_tool_calls).toHaveLength(1);
    const graph = createAgentGraph({ model: scripted([broken], "the end"), tools: [give] });
    const messages = pairedMessagesOf(await graph.invoke(user("go")));
    const found = messages.filter((message) => message.type === "tool") as ToolMessage[];
    expect(found.map(({ tool_call_id, status }) => [tool_call_id, status])).toEqual([
      ["good", "success"],
      ["bad", "error"],
    ]);
    expect(found[1]?.text).toMatch(/arguments of `give`.*not run/);
    expect(runs).toEqual([{ amount: 2 }]);
  });

  it.each(["heedful", "deaf"] as const)("after toolTimeoutMs, if the tool is %s", async (name) => {
    const probe = createProbe();
    const [slow, fast] = await results(
      { tools: [probe[name], probe.fast], toolTimeoutMs: 60 },
      [name],
      ["fast"],
    );
    expect(slow).toMatchObject({ status: "error", name });
    expect(slow?.text).toContain("60 ms");
    expect(fast).toMatchObject({ content: "fast done -" });
    probe.release();
  });
});

describe("a batch", () => {
  it("has its results in call order, whatever came first", async () => {
    const wait = tool(
      async ({ amount }: z.infer<typeof schema>) => {
        await new Promise((resolve) => setTimeout(resolve, amount));
        return `after ${amount}`;
      },
      { name: "wait", description: "wait", schema },
    );
    const found = await results(
      { tools: [wait] },
      ["wait", { amount: 90 }],
      ["wait", { amount: 40 }],
      ["wait", { amount: 1 }],
    );
    expect(script(found)).toEqual(["tool: after 90", "tool: after 40", "tool: after 1"]);
  });

  it("runs in parallel", async () => {
    const probe = createProbe();
    const all = results({ tools: [probe.deaf] }, ["deaf"], ["deaf"], ["deaf"]);
    await probe.hasBegun(3);
    probe.release();
    expect(await all).toHaveLength(3);
  });

  it("loses nothing when one of its calls throws first", async () => {
    const probe = createProbe();
    const all = results(
      { tools: [probe.failing, probe.deaf, probe.fast] },
      ["deaf", { label: "1" }],
      ["failing"],
      ["no_such_tool"],
      ["fast"],
      ["deaf", { label: "2" }],
    );
    await probe.hasBegun(4);
    probe.release();
    expect((await all).map(({ status }) => status)).toEqual([
      "success",
      "error",
      "error",
      "success",
      "success",
    ]);
    expect(probe.ends.toSorted()).toEqual(["deaf:1", "deaf:2", "fast:-"]);
  });

  it("whose calls share one id has a result for each of them", async () => {
    const probe = createProbe();
    const found = await results(
      { tools: [probe.fast] },
      ["fast", { label: "1" }, "same"],
      ["fast", { label: "2" }, "same"],
    );
    expect(probe.runs.toSorted()).toEqual(["fast:1", "fast:2"]);
    expect(found.map(({ text }) => text).toSorted()).toEqual(["fast done 1", "fast done 2"]);
  });

  it("may use an id of an earlier turn again", async () => {
    const probe = createProbe();
    const turn = (label: string) => calls(["fast", { label }, "call_0"]);
    const model = scripted(turn("1"), "one", turn("2"), "two");
    const graph = createAgentGraph({ model, tools: [probe.fast], checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "1" } };
    await graph.invoke(user("first"), config);
    const result = await graph.invoke({ messages: [new HumanMessage("second")] }, config);
    expect(pairedScript(result)).toEqual([
      "human: first",
      "ai> fast",
      "tool: fast done 1",
      "ai: one",
      "human: second",
      "ai> fast",
      "tool: fast done 2",
      "ai: two",
    ]);
  });
});
