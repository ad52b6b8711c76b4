import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { withArguments } from "../../../src/history/change-calls.js";

const call = (id: string, args: object = { x: 1 }) => ({
  id,
  name: "t",
  args: { ...args },
  type: "tool_call" as const,
});
const message = (fields: object) => new AIMessage({ id: "a", content: "", ...fields });

describe("withArguments", () => {
  it("changes the arguments of the call at an index, and nothing else", () => {
    const before = message({
      content: "I shall look.",
      name: "agent",
      tool_calls: [call("1"), call("2")],
      additional_kwargs: { reasoning_content: "hm" },
      response_metadata: { model_name: "m" },
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    });
    const copy = structuredClone(before.toDict());
    const after = withArguments(before, new Map([[1, { x: 2 }]]));
    expect(after.tool_calls).toEqual([call("1"), call("2", { x: 2 })]);
    expect(before.toDict()).toEqual(copy);
    expect(withArguments(after, new Map([[1, { x: 1 }]])).toDict()).toEqual(copy);
  });

  it.each(
    Object.entries<(arguments_: object) => object>({
      "a block of Anthropic": (args) => ({
        content: [{ type: "tool_use", id: "1", name: "t", input: args }],
      }),
      "a block of the Responses API, which has an item id, too": (args) => ({
        content: [
          { type: "function_call", id: "fc_9", call_id: "1", name: "t", arguments: JSON.stringify(args) },
        ],
      }),
      "a standard block": (args) => ({ content: [{ type: "tool_call", id: "1", name: "t", args }] }),
      "what the provider has written": (args) => ({
        additional_kwargs: {
          tool_calls: [
            { id: "1", type: "function", function: { name: "t", arguments: JSON.stringify(args) } },
          ],
        },
      }),
      "a stored answer, which the client sends in the place of the message": (args) => ({
        response_metadata: {
          output: [
            { type: "reasoning", id: "rs_1", encrypted_content: "signed" },
            { type: "function_call", id: "fc_9", call_id: "1", name: "t", arguments: JSON.stringify(args) },
          ],
        },
      }),
    }),
  )("changes them in %s, too", (_what, at) => {
    const text = { type: "text", text: "so" };
    const of = (args: object) => {
      const fields = at(args) as { content?: object[] };
      return message({
        ...fields,
        content: [text, ...(fields.content ?? [])],
        tool_calls: [call("1", args)],
      });
    };
    expect(withArguments(of({ x: 1 }), new Map([[0, { x: 2 }]])).toDict()).toEqual(of({ x: 2 }).toDict());
  });

  it("changes the second of two calls of one id", () => {
    const blocks = (second: number) => [
      { type: "tool_use", id: "1", name: "t", input: { x: 1 } },
      { type: "tool_use", id: "1", name: "t", input: { x: second } },
    ];
    const before = message({ content: blocks(1), tool_calls: [call("1"), call("1")] });
    const after = withArguments(before, new Map([[1, { x: 2 }]]));
    expect(after.content).toEqual(blocks(2));
    expect(after.tool_calls).toEqual([call("1"), call("1", { x: 2 })]);
  });

  it("changes several calls, also of one id", () => {
    const before = message({ tool_calls: [call("1"), call("2"), call("1")] });
    const changes = new Map([
      [2, { x: 3 }],
      [0, { x: 2 }],
    ]);
    const { tool_calls } = withArguments(before, changes);
    expect(tool_calls).toEqual([call("1", { x: 2 }), call("2"), call("1", { x: 3 })]);
  });

  it("returns the same message if there is no such call", () => {
    const before = message({ tool_calls: [call("1")] });
    expect(withArguments(before, new Map([[1, { x: 2 }]]))).toBe(before);
  });
});
