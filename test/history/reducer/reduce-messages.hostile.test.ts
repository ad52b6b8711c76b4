import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { human, result } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { stateViolations } from "../../support/strict-check.js";

const reduce = (history: unknown, update: unknown) => reduceMessages(history, update).messages;

describe("Rule 3: it never throws", () => {
  const unreadable = () => {
    throw new Error("Not to be read");
  };

  it.each<[title: string, value: unknown]>([
    ["null", null],
    ["a number", 7],
    ["an object without a role", { content: "hi" }],
    ["an unknown role", { role: "nobody", content: "hi" }],
    ["a result without a call id", { role: "tool", content: "hi" }],
    ["a bigint", 1n],
    ["an object whose getter throws", Object.defineProperty({}, "role", { get: unreadable })],
    ["a proxy that throws on every access", new Proxy({}, { get: unreadable, has: unreadable })],
    ["an object that has only one method of messages", { _getType: () => "human" }],
  ])("but drops and reports %s", (_title, value) => {
    const { messages, repairs } = reduceMessages([human("h")], [value, human("h2")]);
    expect(outline(messages)).toBe("h h2");
    expect(repairs.map(({ kind }) => kind)).toEqual(["value-refused"]);
    const [repair] = repairs;
    expect(repair?.kind === "value-refused" && repair.value === value).toBe(true);
  });

  it.each(["id", "content", "tool_calls", "additional_kwargs", "type", "name"])(
    "for a message whose `%s` cannot be read, nor for what follows it",
    (field) => {
      const message = new AIMessage("hi");
      Object.defineProperty(message, field, { get: unreadable, enumerable: true });
      const state = reduce([human("h")], [message]);
      expect(() => reduce(state, [result("t", "c"), human("h2")])).not.toThrow();
    },
  );

  it.each<[title: string, content: unknown]>([
    ["a bigint", [{ type: "data", value: 1n }]],
    ["a cycle", cyclicContent()],
    ["nothing", undefined],
  ])("for a message whose content is or contains %s", (_title, content) => {
    const fields = { content } as { content: string };
    const messages = reduce([], [new HumanMessage(fields), new HumanMessage(fields)]);
    expect(messages).toHaveLength(2);
    expect(stateViolations(messages)).toEqual([]);
  });

  it("for a frozen message without an id", () => {
    expect(reduce([], [Object.freeze(new HumanMessage("hi"))])).toHaveLength(1);
  });

  it("for a stored list with a hole or with an object that cannot be read", () => {
    expect(outline(reduce(Object.assign(new Array(2), { 1: human("h") }), []))).toBe("h");
    expect(outline(reduce([new Proxy({}, { get: unreadable, has: unreadable }), human("h")], []))).toBe("h");
  });
});

function cyclicContent(): unknown {
  const block: Record<string, unknown> = { type: "data" };
  block["self"] = block;
  return [block];
}
