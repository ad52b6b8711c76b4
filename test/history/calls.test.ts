/** Which calls a message has, wherever they are written, and how they are changed there. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsOf, isAIMessage } from "../../src/history/call.js";
import {
  hasSignedReasoning,
  isBlankMessage,
  withArguments,
  withDistinctCallIds,
  withoutCalls,
} from "../../src/history/change-calls.js";
import { ai, human, result } from "../support/make-messages.js";
import { callIdsOf } from "../support/strict-check.js";
import { rowsOf } from "../support/test-tools.js";

const listed = (id: string, args: object = { x: 1 }) => ({ id, name: "t", args, type: "tool_call" });
const invalid = (id: string) => ({ id, name: "t", args: "{" });
const use = (id: string, input: object = { x: 1 }) => ({ type: "tool_use", id, name: "t", input });
const item = (id: string, args: object = {}) => ({
  type: "function_call",
  id: `item-${id}`,
  call_id: id,
  name: "t",
  arguments: JSON.stringify(args),
});
const raw = (ids: string[], args: object = {}) => ({
  tool_calls: ids.map((id) => ({
    id,
    type: "function",
    function: { name: "t", arguments: JSON.stringify(args) },
  })),
});
const text = { type: "text", text: "hi" };

const made = (fields: object) => new AIMessage({ id: "a", content: "", ...fields } as never);
/** Fields that LangChain's constructor would change. */
const forced = (fields: object) => Object.assign(new AIMessage(""), fields);

describe("The calls of an AI message", () => {
  it.each(
    rowsOf<[fields: object, ids: string]>({
      "are none if it has none": [{ content: "hi" }, ""],
      "are its tool_calls, then its invalid_tool_calls": [
        { tool_calls: [listed("a"), listed("b")], invalid_tool_calls: [invalid("c")] },
        "a b c!",
      ],
      "are tool_use blocks too": [{ content: [text, use("a")] }, "a"],
      "are function_call blocks too, by call_id and not by the id of the item": [
        { content: [item("a")] },
        "a",
      ],
      "are function_call blocks by id if there is no call_id": [
        { content: [{ type: "function_call", id: "a", name: "t" }] },
        "a",
      ],
      "are those of additional_kwargs too, if tool_calls is empty": [
        { additional_kwargs: raw(["a", "b"]) },
        "a b",
      ],
      "are not those of additional_kwargs if tool_calls has calls, because no client sends them then": [
        { tool_calls: [listed("a")], additional_kwargs: raw(["a", "b"]) },
        "a",
      ],
      "are one call if additional_kwargs repeats an invalid call or a block": [
        { invalid_tool_calls: [invalid("a")], content: [use("b")], additional_kwargs: raw(["b", "a", "c"]) },
        "a! b c",
      ],
      "are one call if a block repeats an entry": [
        { tool_calls: [listed("a")], content: [text, use("a")] },
        "a",
      ],
      "are one call if a block repeats an invalid entry": [
        { invalid_tool_calls: [invalid("a")], content: [use("a")] },
        "a!",
      ],
      "are all counted: each block matches one entry, and the rest come last": [
        { tool_calls: [listed("a"), listed("b")], content: [use("a"), use("a"), item("c")] },
        "a b a c",
      ],
      "can repeat an id": [{ tool_calls: [listed("a"), listed("a")] }, "a a"],
      "have a blank id if the provider set none": [
        { tool_calls: [{ name: "t" }, { id: 7, name: "t" }] },
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
    const found = callsOf(forced(fields)).map(({ id, kind }) => (kind === "invalid" ? `${id}!` : id));
    expect(found.join(" ")).toBe(ids);
  });

  it("have the tool's name, or a blank one if it is missing", () => {
    const message = forced({ tool_calls: [listed("a"), { id: "b" }], content: [use("c")] });
    expect(callsOf(message).map(({ name }) => name)).toEqual(["t", "", "t"]);
  });

  it("are those of a message of this type only", () => {
    expect([ai("a"), human("h"), result("t", "c")].map(isAIMessage)).toEqual([true, false, false]);
    for (const other of [human("h"), result("t", "c"), new HumanMessage({ content: [use("a")] })])
      expect(callsOf(other)).toEqual([]);
  });
});

describe("withDistinctCallIds", () => {
  const calling = (...ids: string[]) => made({ tool_calls: ids.map((id, x) => listed(id, { x })) });

  it.each([
    { given: ["1", "1"], ids: ["1", "1_2"] },
    { given: ["1", "2", "1", "1", "2"], ids: ["1", "2", "1_2", "1_3", "2_2"] },
    { given: ["1_2", "1", "1"], ids: ["1_2", "1", "1_3"] },
    { given: ["", "", "1", "1"], ids: ["", "", "1", "1_2"] },
    { given: ["1", "2", "1"], taken: ["1", "1_2", "3"], ids: ["1_3", "2", "1_4"] },
  ])("makes $ids of $given, if $taken are taken", ({ given, taken = [], ids }) => {
    const message = calling(...given);
    const distinct = withDistinctCallIds(message, new Set(taken));
    expect(callIdsOf(distinct)).toEqual(ids);
    expect(distinct.tool_calls?.map(({ args }) => args)).toEqual(message.tool_calls?.map(({ args }) => args));
    expect(callIdsOf(message)).toEqual(given);
  });

  it.each([
    ["no id repeats", ["1", "2"]],
    ["only an empty id repeats, which the graph refuses later", ["", ""]],
  ])("returns the same message if %s", (_title, ids) => {
    const message = calling(...ids);
    expect(withDistinctCallIds(message)).toBe(message);
    expect(withDistinctCallIds(message, new Set(["3"]))).toBe(message);
  });

  it("renames a call in the content too, and calls with invalid arguments", () => {
    const distinct = withDistinctCallIds(
      made({
        content: [use("1"), item("1"), { type: "text", text: "1" }],
        tool_calls: [listed("1")],
        invalid_tool_calls: [invalid("1")],
      }),
    );
    expect(callIdsOf(distinct)).toEqual(["1", "1_2"]);
    expect(distinct.content).toEqual([
      use("1"),
      { ...item("1"), call_id: "1_2" },
      { type: "text", text: "1" },
    ]);
  });
});

describe("withArguments", () => {
  it("changes the arguments of the call at an index, and nothing else", () => {
    const before = made({
      content: "I shall look.",
      name: "agent",
      tool_calls: [listed("1"), listed("2")],
      additional_kwargs: { reasoning_content: "hm" },
      response_metadata: { model_name: "m" },
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    });
    const copy = structuredClone(before.toDict());
    const after = withArguments(before, new Map([[1, { x: 2 }]]));
    expect(after.tool_calls).toEqual([listed("1"), listed("2", { x: 2 })]);
    expect(before.toDict()).toEqual(copy);
    expect(withArguments(after, new Map([[1, { x: 1 }]])).toDict()).toEqual(copy);
  });

  it.each(
    Object.entries<(args: object) => { content?: object[]; [field: string]: unknown }>({
      "a block of Anthropic": (args) => ({ content: [use("1", args)] }),
      "a block of the Responses API, which has an item id, too": (args) => ({ content: [item("1", args)] }),
      "a standard block": (args) => ({ content: [listed("1", args)] }),
      "what the provider has written": (args) => ({ additional_kwargs: raw(["1"], args) }),
      "a stored answer, which the client sends in the place of the message": (args) => ({
        response_metadata: {
          output: [{ type: "reasoning", id: "rs_1", encrypted_content: "signed" }, item("1", args)],
        },
      }),
    }),
  )("changes them in %s, too", (_what, at) => {
    const of = (args: object) => {
      const { content = [], ...fields } = at(args);
      return made({ ...fields, content: [text, ...content], tool_calls: [listed("1", args)] });
    };
    expect(withArguments(of({ x: 1 }), new Map([[0, { x: 2 }]])).toDict()).toEqual(of({ x: 2 }).toDict());
  });

  it("changes several calls, also of one id, and its blocks", () => {
    const of = (...xs: number[]) => {
      const [first, second, third] = xs.map((x) => ({ x }));
      return made({
        content: [use("1", first), use("2", second), use("1", third)],
        tool_calls: [listed("1", first), listed("2", second), listed("1", third)],
      });
    };
    const changes = new Map([2, 0].map((index) => [index, { x: index + 2 }]));
    expect(withArguments(of(1, 1, 1), changes).toDict()).toEqual(of(2, 1, 4).toDict());
    expect(withArguments(of(1, 1, 1), new Map([[2, { x: 4 }]])).toDict()).toEqual(of(1, 1, 4).toDict());
  });

  it("returns the same message if there is no such call", () => {
    const before = made({ tool_calls: [listed("1")] });
    expect(withArguments(before, new Map([[1, { x: 2 }]]))).toBe(before);
  });
});

describe("Without some of its calls a message", () => {
  it("keeps the others in order, and its other fields", () => {
    const tool_calls = ["x", "y", "z"].map((id) => listed(id));
    const message = made({ content: "text", tool_calls, additional_kwargs: { own: 1 } });
    expect(callIdsOf(withoutCalls(message, (index) => index === 1))).toEqual(["x", "z"]);
    expect(callIdsOf(message)).toEqual(["x", "y", "z"]);
    const rest = withoutCalls(message, () => true);
    expect(rest).toMatchObject({ id: "a", text: "text", additional_kwargs: { own: 1 }, tool_calls: [] });
  });

  it("loses the selected one of two calls with one id", () => {
    const both = [{ nth: 1 }, { nth: 2 }];
    const message = made({
      content: both.map((args) => use("x", args)),
      tool_calls: both.map((args) => listed("x", args)),
    });
    const rest = withoutCalls(message, (index) => index === 0);
    expect(rest).toMatchObject({ tool_calls: [{ args: { nth: 2 } }], content: [{ input: { nth: 2 } }] });
  });

  it("loses invalid calls like others", () => {
    const message = made({ tool_calls: [listed("x")], invalid_tool_calls: [invalid("y")] });
    const rest = withoutCalls(message, (index) => index === 1);
    expect(rest.invalid_tool_calls).toEqual([]);
    expect(rest.tool_calls).toHaveLength(1);
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
