/** Items that OpenAI's Responses API has stored, over HTTP through the real client. */

import {
  AIMessage,
  AIMessageChunk,
  type AIMessageFields,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { toModelInput, validateHistory } from "../../src/index.js";
import { clientOf } from "../support/clients.js";
import { faultOf } from "../support/internals.js";
import { ANSWER, startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());
const dialect = "openai-responses";
const user = new HumanMessage("Pay.");

const response = (output: readonly object[], fields: object) =>
  new AIMessage({
    content: "",
    response_metadata: { model_provider: "openai", model_name: "gpt-5", output },
    ...fields,
  } as AIMessageFields);

async function sent(history: readonly BaseMessage[]): Promise<readonly Record<string, unknown>[]> {
  const input = toModelInput(history, { dialect });
  expect(validateHistory(input, dialect)).toEqual([]);
  expect((await (await clientOf("openai-responses", strict)).invoke(input)).text).toBe(ANSWER);
  return (strict.lastRequest() as { readonly input: readonly Record<string, unknown>[] }).input;
}

const reasoning = { id: "rs_1", type: "reasoning", summary: [] };
const item = { id: "fc_1", type: "function_call", call_id: "c1", name: "pay", arguments: '{"amount":999}' };
const paid = new ToolMessage({ tool_call_id: "c1", content: "paid", name: "pay" });
const call = (args: object, name = "pay") => ({ id: "c1", name, args, type: "tool_call" });

describe("The item of a call", () => {
  it("is sent as it is stored.", async () => {
    const history = [user, response([reasoning, item], { tool_calls: [call({ amount: 999 })] }), paid];
    expect((await sent(history)).slice(1, 3)).toEqual([reasoning, item]);
  });

  it.each([
    ["arguments", call({ amount: 9 }), { name: "pay", arguments: '{"amount":9}' }],
    ["name", call({ amount: 999 }, "refund"), { name: "refund", arguments: '{"amount":999}' }],
  ])("has the %s that a human has given the call.", async (_, edited, expected) => {
    const history = [user, response([reasoning, item], { tool_calls: [edited] }), paid];
    const items = await sent(history);
    expect(items.find(({ call_id, type }) => call_id === "c1" && type === "function_call")).toMatchObject(
      expected,
    );
    expect(JSON.stringify(items)).not.toContain(edited.name === "pay" ? "999" : '"pay"');
  });

  it("is not sent beside a text that somebody has changed.", async () => {
    const message = { id: "msg_2", type: "message", role: "assistant", status: "completed" };
    const stored = {
      ...message,
      content: [{ type: "output_text", text: "The key is 4711.", annotations: [] }],
    };
    const redacted = response([stored], { content: [{ type: "text", text: "The key is [redacted]." }] });
    const items = JSON.stringify(await sent([user, redacted, user]));
    expect(items).not.toContain("4711");
    expect(items).toContain("[redacted]");
  });
});

describe("A call of a custom tool", () => {
  const custom = {
    id: "ctc_1",
    type: "custom_tool_call",
    call_id: "c1",
    name: "write",
    input: "free text {",
  };
  const written = (args: object = { input: "free text {" }) =>
    response([custom], {
      tool_calls: [call(args, "write")],
      additional_kwargs: { __openai_custom_tool_call_ids__: { c1: "ctc_1" } },
    });
  const outputs = (items: readonly Record<string, unknown>[]) =>
    items.filter(({ type }) => String(type).endsWith("_output")).map(({ type }) => type);

  it("has a result of its kind, whatever the tool has returned.", async () => {
    const plain = new ToolMessage({ tool_call_id: "c1", content: [{ type: "text", text: "done" }] as never });
    const items = await sent([user, written(), plain]);
    expect(items).toContainEqual(custom);
    expect(outputs(items)).toEqual(["custom_tool_call_output"]);
  });

  it("gets a placeholder of its kind if it has no result.", async () => {
    expect(validateHistory([user, written(), user], dialect).map(({ rule }) => rule)).toContain(
      "missing-result",
    );
    expect(outputs(await sent([user, written(), user]))).toEqual(["custom_tool_call_output"]);
  });

  it("has the text that a human has given it.", async () => {
    const items = await sent([user, written({ input: "other" }), paid]);
    expect(items).toContainEqual({ ...custom, input: "other" });
  });

  it("is a function call for another model, with a result of that kind.", () => {
    const input = toModelInput([user, written(), paid], { dialect, modelId: "gpt-4o" });
    expect(JSON.stringify(input)).not.toContain("customTool");
    expect(validateHistory(input, dialect)).toEqual([]);
  });

  it("is whole at the end of a stream, although its text is no JSON.", () => {
    const chunk = { type: "tool_call_chunk" as const, index: 0, isCustomTool: true };
    const message = new AIMessageChunk({
      content: "",
      tool_call_chunks: [{ ...chunk, id: "c1", name: "write", args: "free text {" }],
    });
    const chunks = (finish: object) => [{ text: "", message, generationInfo: finish }] as never;
    const whole = { chunks: chunks({ finish_reason: "stop" }), omitsFinishReason: false };
    expect(faultOf(message, whole)).toBeUndefined();
    expect(faultOf(message, { chunks: chunks({}), omitsFinishReason: true })).toBe("cut-off-arguments");
  });
});
