import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { human, result } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

const reduce = (history: unknown, update: unknown) => reduceMessages(history, update).messages;

describe("Rule 3: it never throws", () => {
  const unreadable = () => {
    throw new Error("Not to be read");
  };

  it.each<[title: string, value: unknown]>([
    ["a number", 7],
    ["a proxy that throws on every access", new Proxy({}, { get: unreadable, has: unreadable })],
  ])("but drops and reports %s", (_title, value) => {
    const { messages, repairs } = reduceMessages([human("h")], [value, human("h2")]);
    expect(outline(messages)).toBe("h h2");
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

  it("for a stored list with a hole or with an object that cannot be read", () => {
    expect(outline(reduce(Object.assign(new Array(2), { 1: human("h") }), []))).toBe("h");
    expect(outline(reduce([new Proxy({}, { get: unreadable, has: unreadable }), human("h")], []))).toBe("h");
  });
});
