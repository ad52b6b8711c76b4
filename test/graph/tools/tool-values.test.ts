import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { results, returning, schema } from "../../support/batch.js";
import { createProbe } from "../../support/probe-tools.js";

describe("a tool's value becomes its result:", () => {
  const cases: readonly (readonly [what: string, value: unknown, content: string])[] = [
    ["a string", "plain", "plain"],
    ["an empty string", "", "(no output)"],
    ["an object", { a: [1, "二"] }, '{"a":[1,"二"]}'],
    ["a number", 7, "7"],
    ["false", false, "false"],
  ];

  it.each(cases)("%s", async (_what, value, content) => {
    const { tool: give, runs } = returning(value);
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ content, name: "give", status: "success" });
    expect(runs).toEqual([{ amount: 1 }]);
  });

  it.each([undefined, null])("%s", async (value) => {
    const { tool: give } = returning(value);
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ name: "give", status: "success" });
  });

  it("a ToolMessage, with all that it holds", async () => {
    const { tool: give } = returning(
      (id: string) =>
        new ToolMessage({
          content: "mine",
          tool_call_id: id,
          status: "error",
          artifact: { page: 3 },
          id: "own-id",
        }),
    );
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ content: "mine", status: "error", artifact: { page: 3 } });
    // An id of the tool's choice could be that of another message, and would replace it.
    expect(result?.id).not.toBe("own-id");
  });

  it("a ToolMessage that names another call, as the result of its own", async () => {
    const { tool: give } = returning(new ToolMessage({ content: "mine", tool_call_id: "someone-else" }));
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }, "own"]);
    expect(result).toMatchObject({ content: "mine", tool_call_id: "own" });
  });

  it("content and artifact", async () => {
    const give = tool(async () => ["seen by the model", { rows: 3 }], {
      name: "give",
      description: "give",
      schema,
      responseFormat: "content_and_artifact",
    });
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ content: "seen by the model", artifact: { rows: 3 } });
  });

  it("a list of content blocks", async () => {
    const blocks = [{ type: "text", text: "a picture" }];
    const { tool: give } = returning((id: string) => new ToolMessage({ content: blocks, tool_call_id: id }));
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result?.content).toEqual(blocks);
  });

  it("a Command whose update carries it", async () => {
    const { tool: give } = returning(
      (id: string) =>
        new Command({ update: { messages: [new ToolMessage({ content: "by command", tool_call_id: id })] } }),
    );
    const probe = createProbe();
    const [first, second] = await results({ tools: [give, probe.fast] }, ["give", { amount: 1 }], ["fast"]);
    expect(first).toMatchObject({ content: "by command" });
    expect(second).toMatchObject({ content: "fast done -" });
  });

  it("a Command that carries none leaves no call unanswered", async () => {
    const { tool: give } = returning(() => new Command({ update: {} }));
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ name: "give" });
  });
});
