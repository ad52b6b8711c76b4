import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver, Send } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/agent/create-agent-graph.js";
import { results } from "../../support/batch.js";

const any = z.object({});
const named = (name: string, run: (config: { toolCall?: { id?: string } }) => unknown) =>
  tool(async (_input, config) => run(config as { toolCall?: { id?: string } }), {
    name,
    description: name,
    schema: any,
  });

const steady = named("steady", async () => {
  await new Promise((resolve) => setTimeout(resolve, 30));
  return "steady done";
});

const odd: readonly (readonly [title: string, run: (config: { toolCall?: { id?: string } }) => unknown])[] = [
  [
    "throws what cannot be made a string",
    () => {
      throw Object.create(null);
    },
  ],
  ["returns a command with what is no message", () => new Command({ update: { messages: [42] } })],
  ["returns a command with null as messages", () => new Command({ update: { messages: null } })],
  ["returns nothing", () => undefined],
  ["returns an empty text", () => ""],
  ["returns an empty list", () => []],
  [
    "returns a result for another call",
    () => new ToolMessage({ content: "x", tool_call_id: "other", status: "error" }),
  ],
  [
    "gives its result the id of the user's message",
    () => new ToolMessage({ id: "user", content: "x", tool_call_id: "" }),
  ],
  [
    "gives its result an id that it gives every result",
    () => new ToolMessage({ id: "mine", content: "x", tool_call_id: "" }),
  ],
];

describe("A tool that", () => {
  it.each(odd)("%s does not lose its sibling's result, and its call gets a result", async (_title, run) => {
    const graph = createAgentGraph({
      model: "offline:",
      tools: [named("odd", run), steady],
      checkpointer: new MemorySaver(),
      includeDetailedErrors: true,
    });
    const thread = { configurable: { thread_id: "1" } };
    const ask = (id: string) => [new HumanMessage({ id, content: "call odd and call odd and call steady" })];
    await graph.invoke({ messages: ask("user") }, thread);
    const { messages } = await graph.invoke({ messages: ask("again") }, thread);
    expect(messages.map(({ type }) => type).join(" ")).toBe(
      "human ai tool tool tool ai human ai tool tool tool ai",
    );
    const results = messages.filter((message) => message.type === "tool");
    expect(results.filter(({ content }) => content === "steady done")).toHaveLength(2);
    for (const { content } of results) expect(content.length).toBeGreaterThan(0);
  });

  it.each(["tools", "approve", new Send("tools", { call: { id: "x", name: "bad" }, args: {} })])(
    "returns a command that leads to %s runs no call of its own making",
    async (goto) => {
      const bad = tool(async () => new Command({ goto }), {
        name: "bad",
        description: "bad",
        schema: z.object({}),
      });
      const [result] = await results({ tools: [bad], includeDetailedErrors: true }, ["bad"]);
      expect(result?.text).toContain("only calls of the model are run");
    },
  );

  it("returns a result for another call keeps its status and artifact", async () => {
    const run = () =>
      new ToolMessage({ content: "x", tool_call_id: "other", status: "error", artifact: { page: 3 } });
    const graph = createAgentGraph({ model: "offline:", tools: [named("odd", run)] });
    const { messages } = await graph.invoke({ messages: [new HumanMessage("call odd")] });
    expect(messages[2]).toMatchObject({ content: "x", status: "error", artifact: { page: 3 } });
  });
});

describe("A time limit", () => {
  it("longer than a timer takes is refused", () => {
    expect(() => createAgentGraph({ model: "offline:", toolTimeoutMs: 2 ** 31 })).toThrow(
      /toolTimeoutMs.*2147483647/,
    );
  });
});
