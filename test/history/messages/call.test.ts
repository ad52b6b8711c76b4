import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type Call, callsOf, isAIMessage } from "../../../src/history/call.js";
import { ai, human, result } from "../../support/make-messages.js";
import { titled } from "../../support/titled.js";

const listed = (id: string) => ({ id, name: "f", args: {} });
const invalid = (id: string) => ({ id, name: "f", args: "{" });
const toolUse = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
const item = (callId: string) => ({
  type: "function_call",
  id: `item-${callId}`,
  call_id: callId,
  name: "f",
  arguments: "{}",
});
const text = { type: "text", text: "hi" };
const raw = (...ids: string[]) => ({
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});

interface Case {
  readonly title: string;
  readonly fields: {
    content?: unknown;
    tool_calls?: unknown;
    invalid_tool_calls?: unknown;
    additional_kwargs?: unknown;
  };
  readonly expected: readonly (readonly [id: string, kind: Call["kind"]])[];
}

const messageWith = (fields: object): BaseMessage => Object.assign(new AIMessage(""), fields);

describe("The calls of an AI message", () => {
  it.each(
    titled<Case>([
      { title: "are none if it has none", fields: { content: "hi" }, expected: [] },
      {
        title: "are its tool_calls, then its invalid_tool_calls",
        fields: { tool_calls: [listed("a"), listed("b")], invalid_tool_calls: [invalid("c")] },
        expected: [
          ["a", "valid"],
          ["b", "valid"],
          ["c", "invalid"],
        ],
      },
      {
        title: "are tool_use blocks too",
        fields: { content: [text, toolUse("a")] },
        expected: [["a", "valid"]],
      },
      {
        title: "are function_call blocks too, by call_id and not by the id of the item",
        fields: { content: [item("a")] },
        expected: [["a", "valid"]],
      },
      {
        title: "are function_call blocks by id if there is no call_id",
        fields: { content: [{ type: "function_call", id: "a", name: "f" }] },
        expected: [["a", "valid"]],
      },
      {
        title: "are those of additional_kwargs too, if tool_calls is empty",
        fields: { additional_kwargs: raw("a", "b") },
        expected: [
          ["a", "valid"],
          ["b", "valid"],
        ],
      },
      {
        title:
          "are not those of additional_kwargs if tool_calls has calls, because no client sends them then",
        fields: { tool_calls: [listed("a")], additional_kwargs: raw("a", "b") },
        expected: [["a", "valid"]],
      },
      {
        title: "are one call if additional_kwargs repeats an invalid call or a block",
        fields: {
          invalid_tool_calls: [invalid("a")],
          content: [toolUse("b")],
          additional_kwargs: raw("b", "a", "c"),
        },
        expected: [
          ["a", "invalid"],
          ["b", "valid"],
          ["c", "valid"],
        ],
      },
      {
        title: "are one call if a block repeats an entry",
        fields: { tool_calls: [listed("a")], content: [text, toolUse("a")] },
        expected: [["a", "valid"]],
      },
      {
        title: "are one call if a block repeats an invalid entry",
        fields: { invalid_tool_calls: [invalid("a")], content: [toolUse("a")] },
        expected: [["a", "invalid"]],
      },
      {
        title: "are all counted: each block matches one entry, and the rest come last",
        fields: { tool_calls: [listed("a"), listed("b")], content: [toolUse("a"), toolUse("a"), item("c")] },
        expected: [
          ["a", "valid"],
          ["b", "valid"],
          ["a", "valid"],
          ["c", "valid"],
        ],
      },
      {
        title: "can repeat an id",
        fields: { tool_calls: [listed("a"), listed("a")] },
        expected: [
          ["a", "valid"],
          ["a", "valid"],
        ],
      },
      {
        title: "have a blank id if the provider set none",
        fields: {
          tool_calls: [
            { name: "f", args: {} },
            { id: 7, name: "f" },
          ],
        },
        expected: [
          ["", "valid"],
          ["", "valid"],
        ],
      },
      {
        title: "are read from malformed messages without throwing",
        fields: { tool_calls: [null, "a", listed("a")], invalid_tool_calls: "b", content: [null, "c", {}] },
        expected: [["a", "valid"]],
      },
      {
        title: "do not include other blocks",
        fields: {
          content: [text, { type: "tool_result", tool_use_id: "a" }, { type: "reasoning", id: "b" }],
        },
        expected: [],
      },
    ]),
  )("%s", (_title, { fields, expected }) => {
    expect(callsOf(messageWith(fields)).map(({ id, kind }) => [id, kind])).toEqual(expected);
  });

  it("have the tool's name, or a blank one if it is missing", () => {
    const message = messageWith({ tool_calls: [listed("a"), { id: "b" }], content: [toolUse("c")] });
    expect(callsOf(message).map(({ name }) => name)).toEqual(["f", "", "f"]);
  });
});

it("Other messages have no calls", () => {
  expect(callsOf(human("h"))).toEqual([]);
  expect(callsOf(result("t", "c"))).toEqual([]);
  expect(callsOf(new HumanMessage({ content: [toolUse("a")] }))).toEqual([]);
});

it("An AI message is recognised by its type", () => {
  expect([ai("a"), human("h"), result("t", "c")].map(isAIMessage)).toEqual([true, false, false]);
});
