/** Messages that are read without their constructors are those that the constructors make. */

import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { learnClasses, SAMPLE_MESSAGES } from "../../../src/langgraph/serializer/message-classes.js";
import { learnUsual } from "../../../src/langgraph/serializer/usual-messages.js";
import { expectWarnings, OLD_PACKAGES } from "../../support/expect-warnings.js";
import { differenceOf } from "../../support/twins.js";

expectWarnings(OLD_PACKAGES);

type Create = new (fields: never) => object;
type Fields = Readonly<Record<string, unknown>>;

const CLASSES: readonly (readonly [name: string, create: Create, own: Fields])[] = [
  ["HumanMessage", HumanMessage, {}],
  ["AIMessage", AIMessage, { tool_calls: [{ id: "c", name: "look", args: {} }], invalid_tool_calls: [] }],
  ["ToolMessage", ToolMessage, { tool_call_id: "c", status: "error", artifact: [1], metadata: { a: 1 } }],
];
const USUAL: Fields = { content: "text", additional_kwargs: { a: 1 }, response_metadata: { b: 2 } };
const RAW_CALL = { id: "r", type: "function", function: { name: "look", arguments: "{}" } };

const UNUSUAL: readonly (readonly [title: string, fields: Fields])[] = [
  ["blocks", { content: [{ type: "text", text: "a" }] }],
  ["no content", { content: undefined }],
  ["content blocks", { content: undefined, contentBlocks: [{ type: "text", text: "a" }] }],
  ["content blocks beside the content", { contentBlocks: [{ type: "text", text: "a" }] }],
  ["calls as the provider wrote them", { additional_kwargs: { tool_calls: [RAW_CALL] } }],
  ["content of version 1", { response_metadata: { output_version: "v1" } }],
  ["no metadata", { response_metadata: undefined }],
  ["metadata that is a text", { additional_kwargs: "a" }],
];

describe.each(CLASSES)("%s", (name, create, own) => {
  const createUsual = learnUsual(name, create as never, { ...USUAL, ...own });
  const expectSameOrNone = (fields: Fields) => {
    const message = createUsual({ ...fields });
    const expected: object = new create({ ...fields } as never);
    if (message !== undefined) expect(differenceOf(message, expected)).toBeUndefined();
    return message;
  };

  it("is made as its constructor makes it", () => {
    expect(expectSameOrNone({ ...USUAL, ...own })).toBeInstanceOf(create);
    expect(expectSameOrNone({ ...USUAL, ...own, id: "id", name: "name" })).toBeDefined();
  });

  it.each(UNUSUAL)("is left to its constructor with %s", (_title, fields) => {
    expect(expectSameOrNone({ ...USUAL, ...own, ...fields })).toBeUndefined();
  });
});

it("A response without lists of calls is left to its constructor", () => {
  const sample = { ...USUAL, tool_calls: [], invalid_tool_calls: [] };
  const createUsual = learnUsual("AIMessage", AIMessage as never, sample);
  expect(createUsual({ ...sample })).toBeDefined();
  expect(createUsual({ ...USUAL, tool_calls: [] })).toBeUndefined();
  expect(createUsual({ ...USUAL, invalid_tool_calls: [] })).toBeUndefined();
});

class LaterMessage extends HumanMessage {
  readonly added = true;
}
class SeldomMessage extends HumanMessage {
  declare later: unknown;

  constructor(fields: Fields) {
    super(fields as never);
    if (fields["later"] !== undefined) this.later = fields["later"];
  }
}
class ComputedMessage extends HumanMessage {
  constructor(fields: Fields) {
    super(fields as never);
    Object.defineProperty(this, "name", { get: () => "computed", enumerable: true });
  }
}

it.each([
  ["one more field", "HumanMessage", LaterMessage],
  ["a field that few messages have", "HumanMessage", SeldomMessage],
  ["a field of another kind", "HumanMessage", ComputedMessage],
  ["another name", "SystemMessage", SystemMessage],
])("A class with %s is left to its constructor", (_title, name, create) => {
  expect(learnUsual(name, create as never, { ...USUAL, later: 1 })({ ...USUAL })).toBeUndefined();
});

it("The classes of this version of LangChain are known", async () => {
  const snapshot = { lc: 2, type: "delta_snapshot", value: [] };
  const stored = JSON.stringify([SAMPLE_MESSAGES, snapshot]);
  const [messages, made] = (await new JsonPlusSerializer().loadsTyped("json", stored)) as [
    unknown[],
    unknown,
  ];
  const { byName } = learnClasses(messages, made);
  for (const [name, create, own] of CLASSES)
    expect(byName.get(name)?.createUsual({ ...USUAL, ...own })).toBeInstanceOf(create);
});
