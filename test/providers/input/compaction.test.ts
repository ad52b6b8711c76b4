/** What a provider has compacted by itself is not sent to it again, not counted, and not summarised. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { measureInput } from "../../../src/history/measure.js";
import { isSummaryDue, planSummary } from "../../../src/history/plan-summary.js";
import { explainInput, type ModelInputOptions, toModelInput } from "../../../src/index.js";
import { compactedAt } from "../../../src/providers/contract/author.js";
import { dialectNamed, sizeOfInput } from "../../support/internals.js";
import { policyOf, turnsOf } from "../../support/long-histories.js";
import { system } from "../../support/make-messages.js";

const anthropics = new AIMessage({
  id: "compacted",
  content: [
    { type: "compaction", content: "They spoke of places." },
    { type: "text", text: "Go on." },
  ],
  response_metadata: { model_provider: "anthropic", model_name: "claude-opus-4-6" },
  usage_metadata: { input_tokens: 90_000, output_tokens: 10, total_tokens: 90_010 },
} as never);

const openAIs = new AIMessage({
  id: "compacted",
  content: [{ type: "text", text: "Go on." }],
  response_metadata: {
    model_provider: "openai",
    model_name: "gpt-5.2",
    output: [
      { type: "compaction", id: "cmp_1", encrypted_content: "gAAAA" },
      { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Go on." }] },
    ],
  },
});

const CASES: readonly [title: string, message: AIMessage, options: ModelInputOptions][] = [
  ["a block of Anthropic", anthropics, { dialect: "anthropic", modelId: "claude-opus-4-6" }],
  ["an item of OpenAI", openAIs, { dialect: "openai-responses", modelId: "gpt-5.2" }],
];

const before = turnsOf(30);
const next = new HumanMessage({ id: "next", content: "And then?" });
const threadWith = (message: AIMessage): BaseMessage[] => [system("sys"), ...before, message, next];
const idsOf = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);

describe.each(CASES)("%s", (_, message, options) => {
  const history = threadWith(message);
  const target = { dialect: dialectNamed(options.dialect ?? "strict"), modelId: options.modelId };
  const policy = policyOf({
    maxTokensBeforeSummary: 1_000,
    compactedAt: (messages) => compactedAt(messages, target),
  });

  it("is a cut: the model gets the system prompt, it, and what follows", () => {
    const sent = toModelInput(history, options);
    expect(idsOf(sent).filter((id) => id !== undefined)).toEqual(
      expect.arrayContaining(["compacted", "next"]),
    );
    for (const { id } of before) expect(idsOf(sent)).not.toContain(id);
    expect(sent[0]?.type).toBe("system");
    expect(JSON.stringify(sent)).toContain("compaction");
  });

  it("the explanation says so", () => {
    const { stored } = explainInput(history, options);
    const left = stored.filter(({ fate }) => fate === "left-out");
    expect(left.map(({ id }) => id)).toEqual(idsOf(before));
    for (const { reasons } of left) expect(reasons.map(({ code }) => code)).toEqual(["compacted"]);
  });

  it("another model gets the whole history", () => {
    const sent = toModelInput(history, { dialect: "openai" });
    for (const { text } of before) expect(sent.map((each) => each.text).join("\n")).toContain(text);
  });

  it("what is before it is not counted", () => {
    expect(measureInput(history, policyOf({ maxTokensBeforeSummary: 1_000 })).tokens).toBeGreaterThan(1_000);
    expect(measureInput(history, policy).tokens).toBeLessThan(200);
    expect(isSummaryDue(history, policy)).toBe(false);
    expect(isSummaryDue(history, { ...policy, maxTokensBeforeSummary: 0, maxMessagesBeforeSummary: 5 })).toBe(
      false,
    );
  });

  it("stays whole, with its results, in an input that is too long", () => {
    const { output, ...metadata } = message.response_metadata;
    const item = { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: "{}" };
    const asking = Object.assign(withId(message, 0), {
      id: "compacted",
      response_metadata: Array.isArray(output) ? { ...metadata, output: [...output, item] } : metadata,
      tool_calls: [{ id: "c1", name: "look", args: {} }],
    });
    const found = new ToolMessage({ id: "found", tool_call_id: "c1", content: "Found." });
    const later = turnsOf(20).map((each, index) => withId(each, index));
    const sent = toModelInput([...before, asking, found, ...later, next], { ...options, maxTokens: 500 });
    const place = idsOf(sent).indexOf("compacted");
    expect(sent[place]).toEqual(asking);
    expect(idsOf(sent)[place + 1]).toBe("found");
    expect(idsOf(sent)).not.toContain("later-0");
    expect(idsOf(sent)).toContain("next");
  });

  it.each([
    ["an earlier turn", [next]],
    ["the current turn", []],
  ])("has the long arguments of its calls shortened in %s", (_title, after) => {
    const args = { path: "places.md", text: "word ".repeat(20_000) };
    const { output, ...metadata } = message.response_metadata;
    const item = { type: "function_call", id: "fc_1", call_id: "c1", name: "write" };
    const written = { ...item, arguments: JSON.stringify(args) };
    const asking = Object.assign(withId(message, 0), {
      id: "compacted",
      response_metadata: Array.isArray(output) ? { ...metadata, output: [...output, written] } : metadata,
      tool_calls: [{ id: "c1", name: "write", args }],
    });
    const done = new ToolMessage({ id: "done", tool_call_id: "c1", content: "Done." });
    const sent = toModelInput([...before, asking, done, ...after], { ...options, maxTokens: 2_000 });
    expect(sizeOfInput(sent)).toBeLessThanOrEqual(2_000);
    const shorter = sent.find(({ id }) => id === "compacted");
    expect(shorter?.content).toEqual(message.content);
    if (Array.isArray(output))
      expect(shorter?.response_metadata["output"]).toEqual(expect.arrayContaining(output));
  });

  it("a summary covers more than that, or is not made", () => {
    expect(planSummary(history, policy)).toBeUndefined();
    const longer = [...history.slice(0, -1), ...turnsOf(20).map((each, index) => withId(each, index)), next];
    const covered = planSummary(longer, policy)?.covered ?? [];
    expect(idsOf(covered)).toContain("compacted");
    expect(covered.at(-1)).not.toBe(message);
  });
});

it("a long text beside a compaction of Anthropic is shortened", () => {
  const content = [
    { type: "compaction", content: "They spoke of places." },
    { type: "text", text: "word ".repeat(20_000) },
  ];
  const { response_metadata } = anthropics;
  const long = new AIMessage({ id: "compacted", content, response_metadata } as never);
  const options = { dialect: "anthropic", modelId: "claude-opus-4-6", maxTokens: 2_000 } as const;
  const sent = toModelInput([...before, long, next], options);
  expect(sizeOfInput(sent)).toBeLessThanOrEqual(2_000);
  expect(sent.find(({ id }) => id === "compacted")?.content).toContainEqual(content[0]);
});

it("a compaction of Anthropic that failed is no cut", () => {
  const failed = new AIMessage({ id: "failed", content: [{ type: "compaction", content: null }] as never });
  expect(compactedAt([next, failed], { dialect: dialectNamed("anthropic"), modelId: undefined })).toBe(0);
});

function withId(message: BaseMessage, index: number): BaseMessage {
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { id: `later-${index}` });
}
