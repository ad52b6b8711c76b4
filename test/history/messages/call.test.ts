import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsOf, isAIMessage } from "../../../src/history/call.js";
import { ai, human, result } from "../../support/make-messages.js";
import { rowsOf } from "../../support/titled.js";

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

const messageWith = (fields: object): BaseMessage => Object.assign(new AIMessage(""), fields);

describe("The calls of an AI message", () => {
  it.each(
    rowsOf<[fields: object, ids: string]>({
      "are none if it has none": [{ content: "hi" }, ""],
      "are its tool_calls, then its invalid_tool_calls": [
        { tool_calls: [listed("a"), listed("b")], invalid_tool_calls: [invalid("c")] },
        "a b c!",
      ],
      "are tool_use blocks too": [{ content: [text, toolUse("a")] }, "a"],
      "are function_call blocks too, by call_id and not by the id of the item": [
        { content: [item("a")] },
        "a",
      ],
      "are function_call blocks by id if there is no call_id": [
        { content: [{ type: "function_call", id: "a", name: "f" }] },
        "a",
      ],
      "are those of additional_kwargs too, if tool_calls is empty": [
        { additional_kwargs: raw("a", "b") },
        "a b",
      ],
      "are not those of additional_kwargs if tool_calls has calls, because no client sends them then": [
        { tool_calls: [listed("a")], additional_kwargs: raw("a", "b") },
        "a",
      ],
      "are one call if additional_kwargs repeats an invalid call or a block": [
        {
          invalid_tool_calls: [invalid("a")],
          content: [toolUse("b")],
          additional_kwargs: raw("b", "a", "c"),
        },
        "a! b c",
      ],
      "are one call if a block repeats an entry": [
        { tool_calls: [listed("a")], content: [text, toolUse("a")] },
        "a",
      ],
      "are one call if a block repeats an invalid entry": [
        { invalid_tool_calls: [invalid("a")], content: [toolUse("a")] },
        "a!",
      ],
      "are all counted: each block matches one entry, and the rest come last": [
        { tool_calls: [listed("a"), listed("b")], content: [toolUse("a"), toolUse("a"), item("c")] },
        "a b a c",
      ],
      "can repeat an id": [{ tool_calls: [listed("a"), listed("a")] }, "a a"],
      "have a blank id if the provider set none": [
        {
          tool_calls: [
            { name: "f", args: {} },
            { id: 7, name: "f" },
          ],
        },
        " ",
      ],
      "are read from malformed messages without throwing": [
        { tool_calls: [null, "a", listed("a")], invalid_tool_calls: "b", content: [null, "c", {}] },
        "a",
      ],
      "do not include other blocks": [
        { content: [text, { type: "tool_result", tool_use_id: "a" }, { type: "reasoning", id: "b" }] },
        "",
      ],
    }),
  )("%s", (_title, fields, ids) => {
    const found = callsOf(messageWith(fields)).map(({ id, kind }) => (kind === "invalid" ? `${id}!` : id));
    expect(found.join(" ")).toBe(ids);
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
