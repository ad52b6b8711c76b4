import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { hasSignedReasoning, isBlankMessage, withoutCalls } from "../../../src/history/change-calls.js";
import { callIdsOf } from "../../support/strict-check.js";

const listed = (id: string) => ({ id, name: "look", args: {} });
const use = (id: string) => ({ type: "tool_use", id, name: "look", input: {} });
const made = (fields: object) => new AIMessage({ id: "a", content: "", ...fields } as never);

describe("Without some of its calls a message", () => {
  it("keeps the others, in order", () => {
    const message = made({ tool_calls: [listed("x"), listed("y"), listed("z")] });
    expect(callIdsOf(withoutCalls(message, (index) => index === 1))).toEqual(["x", "z"]);
    expect(callIdsOf(message)).toEqual(["x", "y", "z"]);
  });

  it("loses the selected one of two calls with one id", () => {
    const message = made({
      content: [
        { ...use("x"), input: { nth: 1 } },
        { ...use("x"), input: { nth: 2 } },
      ],
      tool_calls: [
        { ...listed("x"), args: { nth: 1 } },
        { ...listed("x"), args: { nth: 2 } },
      ],
    });
    const rest = withoutCalls(message, (index) => index === 0);
    expect(rest.tool_calls).toMatchObject([{ args: { nth: 2 } }]);
    expect(rest.content).toMatchObject([{ input: { nth: 2 } }]);
  });

  it("loses invalid calls like others", () => {
    const message = made({
      tool_calls: [listed("x")],
      invalid_tool_calls: [{ id: "y", name: "look", args: "{" }],
    });
    const rest = withoutCalls(message, (index) => index === 1);
    expect(rest.invalid_tool_calls).toEqual([]);
    expect(rest.tool_calls).toHaveLength(1);
  });

  it("keeps its other fields", () => {
    const message = made({ content: "text", tool_calls: [listed("x")], additional_kwargs: { own: 1 } });
    const rest = withoutCalls(message, () => true);
    expect(rest.additional_kwargs).toEqual({ own: 1 });
    expect(rest.id).toBe("a");
    expect(rest.text).toBe("text");
  });

  it("is serialized as it reads", () => {
    const rest = withoutCalls(made({ content: [use("x")], tool_calls: [listed("x")] }), () => true);
    expect(JSON.stringify(rest.toDict())).not.toContain('"x"');
  });
});

it.each([
  ["a signature of Anthropic", { content: [{ type: "thinking", thinking: "", signature: "s" }] }, true],
  ["a thought signature of Gemini", { content: [{ type: "text", text: "", thoughtSignature: "s" }] }, true],
  ["encrypted reasoning of OpenAI", { content: [{ type: "reasoning", encrypted_content: "s" }] }, true],
  ["a reasoning item of OpenAI", { additional_kwargs: { reasoning: { id: "rs" } } }, true],
  ["plain reasoning", { content: [{ type: "reasoning", reasoning: "hm" }] }, false],
  ["text", { content: "x" }, false],
])("Signed reasoning is recognised: %s", (_title, fields, expected) => {
  expect(hasSignedReasoning(made(fields))).toBe(expected);
});

it.each([
  ["nothing", "", true],
  ["blanks", " \n", true],
  ["text", "x", false],
  ["reasoning and calls", [{ type: "thinking", thinking: "hm" }, use("x")], true],
  ["a picture", [{ type: "image_url", image_url: { url: "x" } }], false],
])("A blank message is recognised: %s", (_title, content, expected) => {
  expect(isBlankMessage(made({ content }))).toBe(expected);
});
