import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { isDerivedId } from "../../../src/history/message.js";
import {
  callIdOf,
  createPlaceholder,
  isPlaceholder,
  isResult,
  PLACEHOLDER_KEY,
  type PlaceholderCause,
} from "../../../src/history/result.js";
import { ai, human, placeholder, result } from "../../support/make-messages.js";

const call = { id: "c1", name: "search", kind: "valid" } as const;
const place = "a";

describe("A placeholder says only what is known, to the byte", () => {
  it.each<[PlaceholderCause, string, string]>([
    ["unrecorded", "no result was recorded for it. It may or may not have taken effect.", "unknown"],
    ["superseded", "a new message came before it finished. It may or may not have taken effect.", "unknown"],
    ["interrupted", "the run ended before it finished. It may or may not have taken effect.", "unknown"],
    ["invalid-arguments", "its arguments were not valid JSON, so it was not run.", "not-started"],
    ["timed-out", "it did not finish in the time allowed. It may or may not have taken effect.", "unknown"],
    ["declined", "it was not approved, so it was not run.", "not-started"],
    ["not-started", "its run ended before it was started, so it was not run.", "not-started"],
    ["failed", "it failed before it could return a result. It may or may not have taken effect.", "failed"],
  ])("%s", (cause, text, outcome) => {
    const message = createPlaceholder(call, cause, place);
    expect(message).toMatchObject({
      content: `Tool call search (c1): ${text}`,
      tool_call_id: "c1",
      name: "search",
      status: "error",
      additional_kwargs: { tether_placeholder: cause, tether_outcome: outcome },
    });
  });

  it("even for a call without an id and a name", () => {
    const { content } = createPlaceholder({ id: "", name: "", kind: "valid" }, "unrecorded", place);
    expect(content).toBe(
      "Tool call (unnamed) (no id): no result was recorded for it. It may or may not have taken effect.",
    );
  });
});

describe("The id of a placeholder", () => {
  const idOf = (...args: Parameters<typeof createPlaceholder>) => createPlaceholder(...args).id;

  it("is the same for the same call at the same place", () => {
    expect(idOf(call, "unrecorded", place)).toBe(`placeholder:${place}:unrecorded:c1`);
  });

  it("differs by place, call and cause", () => {
    const ids = [
      idOf(call, "unrecorded", place),
      idOf(call, "unrecorded", "b"),
      idOf({ ...call, id: "c2" }, "unrecorded", place),
      idOf(call, "superseded", place),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  it("is known as an id of this library", () => {
    expect([idOf(call, "unrecorded", place), "call_1", undefined].map(isDerivedId)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("is saved with it", () => {
    const message = createPlaceholder(call, "unrecorded", place);
    expect(JSON.parse(JSON.stringify(message)).kwargs.id).toBe(message.id);
  });
});

it("A result is recognised by its type, and a placeholder by its mark", () => {
  expect([result("t", "c"), placeholder("p", "c"), ai("a", "c"), human("h")].map(isResult)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([result("t", "c"), placeholder("p", "c"), ai("a", "c")].map(isPlaceholder)).toEqual([
    false,
    true,
    false,
  ]);
  expect(PLACEHOLDER_KEY).toBe("tether_placeholder");
});

it("The id of the answered call is blank if the result names none", () => {
  expect(callIdOf(result("t", "c"))).toBe("c");
  expect(
    callIdOf(Object.assign(new ToolMessage({ content: "", tool_call_id: "c" }), { tool_call_id: 7 })),
  ).toBe("");
});

describe("A result that agent-chat-ui made up", () => {
  const madeUp = { id: "do-not-render-7", content: "Successfully handled tool call.", tool_call_id: "c1" };

  it("counts as a placeholder", () => {
    expect(isPlaceholder(new ToolMessage(madeUp))).toBe(true);
  });

  it.each([
    ["with another id", { id: "7" }],
    ["without an id", { id: undefined }],
    ["with another text", { content: "Successfully handled." }],
  ])("is a real result if it is %s", (_what, fields) => {
    expect(isPlaceholder(new ToolMessage({ ...madeUp, ...fields } as typeof madeUp))).toBe(false);
  });
});

describe("A result that deepagents made up", () => {
  const content = (name: string, id: string) =>
    `Tool call ${name} with id ${id} was cancelled - another message came in before it could be completed.`;
  const madeUp = { name: "pay", content: content("pay", "c1"), tool_call_id: "c1" };

  it("counts as a placeholder", () => {
    expect(isPlaceholder(new ToolMessage(madeUp))).toBe(true);
  });

  it.each([
    ["about another call", { content: content("pay", "c2") }],
    ["about another tool", { content: content("look", "c1") }],
    ["with more text", { content: `It says: ${content("pay", "c1")}` }],
  ])("is a real result if it is %s", (_what, fields) => {
    expect(isPlaceholder(new ToolMessage({ ...madeUp, ...fields }))).toBe(false);
  });
});
