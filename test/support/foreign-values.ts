/** Arbitrary values that are not message objects. */

import fc from "fast-check";

/** Values that LangChain converts to a message. */
export const messageLike: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom("", "x", "y"),
  fc.tuple(
    fc.constantFrom("user", "human", "ai", "assistant", "system", "developer"),
    fc.constantFrom("x", "y"),
  ),
  fc.constant({
    role: "assistant",
    content: null,
    tool_calls: [openAiCall("c1"), openAiCall("c2")],
    id: "m1",
  }),
  fc.constant({ role: "tool", content: "x", tool_call_id: "c1" }),
  fc.constant({ type: "remove", id: "m2" }),
  fc.constant({ lc: 1, type: "constructor", id: ["a", "HumanMessage"], kwargs: { content: "x", id: "m3" } }),
);

/** Values that cannot be converted to a message. Some are objects that cannot be read, written or compared. */
export const noMessage: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, undefined, 0, 1n, Number.NaN, true, Symbol("s")),
  fc.constantFrom({}, { content: "x" }, { role: 7, content: "x" }, { role: "nobody", content: "x" }),
  fc.constantFrom({ role: "tool", content: "x" }, { type: "tool" }, { type: "remove" }, { type: "ai_chunk" }),
  fc.constantFrom([], [null, "x"], ["tool", "x"], () => "x", new Date(0), new Map()),
  fc.constantFrom(throwingObject(), cyclicObject()),
);

function openAiCall(id: string): object {
  return { id, type: "function", function: { name: "tool", arguments: "{}" } };
}

function throwingObject(): object {
  return {
    get role() {
      throw new Error("Not to be read");
    },
  };
}

function cyclicObject(): object {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}
