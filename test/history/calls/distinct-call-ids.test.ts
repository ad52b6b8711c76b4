import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../../src/history/call.js";
import { withDistinctCallIds } from "../../../src/history/change-calls.js";

const calling = (...ids: string[]) =>
  new AIMessage({ id: "a", content: "", tool_calls: ids.map((id, x) => ({ id, name: "t", args: { x } })) });
const idsOf = (message: AIMessage) => callsOf(message).map(({ id }) => id);

describe("withDistinctCallIds", () => {
  it("returns the same message if no id repeats", () => {
    const message = calling("1", "2");
    expect(withDistinctCallIds(message)).toBe(message);
  });

  it.each([
    { given: ["1", "1"], ids: ["1", "1_2"] },
    { given: ["1", "2", "1", "1", "2"], ids: ["1", "2", "1_2", "1_3", "2_2"] },
    { given: ["1_2", "1", "1"], ids: ["1_2", "1", "1_3"] },
    { given: ["", "", "1", "1"], ids: ["", "", "1", "1_2"] },
  ])("makes $ids of $given", ({ given, ids }) => {
    const message = calling(...given);
    const distinct = withDistinctCallIds(message);
    expect(idsOf(distinct)).toEqual(ids);
    expect(distinct.tool_calls?.map(({ args }) => args)).toEqual(message.tool_calls?.map(({ args }) => args));
    expect(idsOf(message)).toEqual(given);
  });

  it("takes no id of the given ones", () => {
    expect(idsOf(withDistinctCallIds(calling("1", "2", "1"), new Set(["1", "1_2", "3"])))).toEqual([
      "1_3",
      "2",
      "1_4",
    ]);
    const message = calling("1", "2");
    expect(withDistinctCallIds(message, new Set(["3"]))).toBe(message);
  });

  it("does not change an empty id, which the graph refuses later", () => {
    const message = calling("", "");
    expect(withDistinctCallIds(message)).toBe(message);
  });

  it("renames a call in the content too, and calls with invalid arguments", () => {
    const message = new AIMessage({
      content: [
        { type: "tool_use", id: "1", name: "t", input: {} },
        { type: "function_call", id: "fc", call_id: "1", name: "t", arguments: "{}" },
        { type: "text", text: "1" },
      ],
      tool_calls: [{ id: "1", name: "t", args: {} }],
      invalid_tool_calls: [{ id: "1", name: "t", args: "{", error: "cut off" }],
    });
    const distinct = withDistinctCallIds(message);
    expect(idsOf(distinct)).toEqual(["1", "1_2"]);
    expect(distinct.content).toEqual([
      { type: "tool_use", id: "1", name: "t", input: {} },
      { type: "function_call", id: "fc", call_id: "1_2", name: "t", arguments: "{}" },
      { type: "text", text: "1" },
    ]);
  });
});
