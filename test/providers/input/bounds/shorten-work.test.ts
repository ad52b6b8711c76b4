import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countTokens } from "../../../../src/history/size.js";
import { prepareModelInput } from "../../../../src/providers/input/to-model-input.js";
import { runs } from "../../../support/law-runs.js";
import { humanOf, stepOf, textOf, tokensOf } from "../../../support/long-histories.js";
import { snapshot } from "../../../support/plain-messages.js";
import { strictViolations } from "../../../support/strict-check.js";

const resultsOf = (messages: readonly BaseMessage[]) => messages.filter(({ type }) => type === "tool");
/** The model input with a budget, which shortens results and arguments, and nothing else. */
const shortenResults = (messages: readonly BaseMessage[], budget: number) =>
  prepareModelInput(messages, { budget, dialect: "openai" }).messages;
/** A request, a call and its result. */
const lookedUp = (content: ToolMessage["content"], request: BaseMessage = humanOf("h")) => [
  request,
  new AIMessage({ content: "", tool_calls: [{ id: "c", name: "look", args: {} }] }),
  new ToolMessage({ tool_call_id: "c", content }),
];
/** A result keeps at least this many tokens, or all of its tokens. */
const LEAST = 40;

describe("An input that is short enough", () => {
  it("is the same array", () => {
    const input = [humanOf("h"), ...stepOf("s", 100)];
    expect(shortenResults(input, tokensOf(input))).toBe(input);
  });
});

describe("A batch that is longer than the budget", () => {
  const input = [humanOf("h"), ...stepOf("old", 1000, "a", "b"), ...stepOf("new", 1000, "c", "d")];
  const shorter = shortenResults(input, 1500);

  it("keeps most of the newest result", () => {
    const sizes = resultsOf(shorter).map(countTokens);
    expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
    expect(sizes.at(-1)).toBeGreaterThan(300);
  });

  it("says that it was shortened, and from what length", () => {
    for (const result of resultsOf(shorter))
      expect(result.text).toContain("[… shortened from 4000 characters]");
  });

  it("does not change other messages and the originals", () => {
    const before = snapshot(input);
    const again = shortenResults(input, 700);
    expect(snapshot(input)).toEqual(before);
    for (const [index, message] of again.entries()) {
      if (message.type !== "tool") expect(message).toBe(input[index]);
      expect(message.id).toBe(input[index]?.id);
    }
  });
});

it.each([
  [
    "When does my Lisbon flight leave?",
    (line: number) => `row ${line}: nothing of interest here`,
    "row 350: the Lisbon flight leaves at 07:45",
  ],
  [
    "我的里斯本航班几点起飞？",
    (line: number) => `第${line}行：没有内容`,
    "第350行：里斯本航班七点四十五分起飞",
  ],
])("Lines that mention the request stay readable, wherever they are: %s", (request, other, wanted) => {
  const lines = Array.from({ length: 400 }, (_, line) => other(line)).with(350, wanted);
  const input = lookedUp(lines.join("\n"), new HumanMessage(request));
  expect(shortenResults(input, 300).at(-1)?.text).toContain(wanted.slice(-5));
});

it("The long result gets the room that short ones do not need", () => {
  const ids = Array.from({ length: 30 }, (_, call) => `c${call}`);
  const call = new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "look", args: {} })) });
  const short = ids.map((id) => new ToolMessage({ tool_call_id: id, content: "ok" }));
  const long = new ToolMessage({ tool_call_id: "c29", content: textOf(2000, "newest") });
  const input = [humanOf("h"), call, ...short.slice(0, 29), long];
  const fixed = tokensOf(input) - countTokens(long);
  const shorter = shortenResults(input, fixed + 1000);
  expect(countTokens(shorter.at(-1) ?? long)).toBeGreaterThan(900);
});

it("No character is cut in half", () => {
  const law = fc.property(
    fc.integer({ min: 100, max: 200 }),
    fc.integer({ min: 0, max: 3 }),
    (budget, shift) => {
      const shorter = shortenResults(lookedUp(`${"x".repeat(shift)}${"😀".repeat(500)}`), budget);
      expect(() => encodeURIComponent(shorter.at(-1)?.text ?? "")).not.toThrow();
    },
  );
  fc.assert(law, runs(100));
});

it("A result with content blocks is shortened", () => {
  const shorter = shortenResults(lookedUp([{ type: "text", text: textOf(1000, "found") }]), 200);
  expect(tokensOf(shorter)).toBeLessThanOrEqual(200);
  expect(shorter.at(-1)?.text).toContain("found");
});

it("The budget is kept if the required minimum fits into it, and is nearly used up", () => {
  const tool = fc.record({
    lines: fc.array(fc.constantFrom("Lisbon flight", "nothing", "文字文字", "x".repeat(90), ""), {
      maxLength: 60,
    }),
  });
  const law = fc.property(
    fc.array(tool, { minLength: 1, maxLength: 8 }),
    fc.nat({ max: 1500 }),
    (tools, budget) => {
      const calls = tools.map((_, index) => ({ id: `c${index}`, name: "look", args: {} }));
      const results = tools.map(
        ({ lines }, index) => new ToolMessage({ tool_call_id: `c${index}`, content: lines.join("\n") }),
      );
      const input = [
        new HumanMessage("my Lisbon flight"),
        new AIMessage({ content: "", tool_calls: calls }),
        ...results,
      ];
      const fixed = tokensOf(input) - tokensOf(results);
      const least = results.reduce((sum, result) => sum + Math.min(countTokens(result), LEAST), fixed);
      const shorter = shortenResults(input, budget);
      expect(strictViolations(shorter)).toEqual([]);
      expect(tokensOf(shorter)).toBeLessThanOrEqual(Math.max(budget, least));
    },
  );
  fc.assert(law, runs(500));
});
