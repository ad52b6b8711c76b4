import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sumTokens } from "../../../src/history/size.js";
import { type DialectName, explainInput, toModelInput, validateHistory } from "../../../src/index.js";
import { wordsOf } from "../../../src/providers/failure/own-words.js";
import { namesKnownRule } from "../../../src/providers/failure/refusal.js";
import { reasoningOf } from "../../../src/providers/host-fields/fields.js";
import { buildForeign, foreignHistories } from "../../support/dialect-arbitraries.js";
import { countTextTokens, DIALECTS, reduceMessages } from "../../support/internals.js";
import { snapshot } from "../../support/plain-messages.js";
import { expectWarnings, OLD_PACKAGES, runs } from "../../support/test-tools.js";

expectWarnings(OLD_PACKAGES);

const NAMES = Object.keys(DIALECTS) as DialectName[];
const TURNS = 20;
const BUDGET = 5_000;

/** Turns with a long result each, and with as much reasoning as a thinking model writes. */
function thinkingThread(): BaseMessage[] {
  return Array.from({ length: TURNS }, (_, turn) => [
    new HumanMessage(`look ${turn}`),
    new AIMessage({
      content: "",
      tool_calls: [{ id: `c${turn}`, name: "look", args: { turn } }],
      additional_kwargs: { reasoning_content: "I must look. ".repeat(40) },
    }),
    new ToolMessage({ content: "clear sky ".repeat(300), tool_call_id: `c${turn}` }),
  ]).flat();
}

describe.each(NAMES)("A model input for %s with a budget", (dialect) => {
  it("stays within the budget, including added messages and reasoning", () => {
    const input = toModelInput(thinkingThread(), { dialect, maxTokens: BUDGET });
    const reasoning = input.map((message) => countTextTokens(reasoningOf(message) ?? ""));
    const total = sumTokens(input) + reasoning.reduce((sum, tokens) => sum + tokens, 0);
    expect(total).toBeLessThanOrEqual(BUDGET);
    expect(total).toBeGreaterThan(BUDGET * 0.6);
  });

  it("breaks no rule of the dialect", () => {
    fc.assert(
      fc.property(foreignHistories(), fc.nat({ max: 200 }), (foreign, maxTokens) => {
        const input = toModelInput(buildForeign(foreign), { dialect, maxTokens });
        expect(validateHistory(input, dialect)).toEqual([]);
      }),
      runs(60),
    );
  });
});

it.each<[change: string, change: (messages: BaseMessage[]) => void, sent: readonly string[]]>([
  [
    "a message becomes null",
    (messages) => messages.splice(0, 1, null as never),
    ["(The beginning of this conversation is not shown.)", "b", "c"],
  ],
  [
    "a content becomes a number",
    (messages) => Object.assign(messages[2] ?? {}, { content: 5 }),
    ["a", "b", "5"],
  ],
  [
    "a content throws when it is read",
    (messages) => Object.defineProperty(messages[2], "content", { get: () => expect.fail("read") }),
    ["a", "b", "Please continue."],
  ],
])("A list of the reducer that was changed in place is checked again: %s", (_, change, sent) => {
  const { messages } = reduceMessages([], [new HumanMessage("a"), new AIMessage("b"), new HumanMessage("c")]);
  change(messages);
  expect(toModelInput(messages, { dialect: "strict" }).map(({ text }) => text)).toEqual(sent);
});

it("An assistant message that is merged into the next one leaves its state behind", () => {
  const state = { type: "functionCall", functionCall: { name: "look", args: {} } };
  const messages = [
    new HumanMessage("look"),
    new AIMessage({ content: [state, { type: "text", text: "I look." }] }),
    new AIMessage({ content: "I saw it.", response_metadata: { model_provider: "openai" } }),
  ];
  const input = toModelInput(messages, { dialect: "gemini" });
  expect(validateHistory(input, "gemini")).toEqual([]);
  expect(JSON.stringify(input)).not.toContain("functionCall");
  expect(input[1]?.text).toContain("I look.");
});

it.each([-1, Number.NaN, "5", null])("A `maxTokens` of %j is refused", (maxTokens) => {
  expect(() => toModelInput([new HumanMessage("hello")], { maxTokens: maxTokens as never })).toThrow(
    "Expected `maxTokens` to be a number of 0 or more",
  );
});

// Half a surrogate pair, as a text has it that was cut in the middle of an emoji. Providers refuse the request.

const HIGH = "\ud83d";
const LOW = "\ude00";
const UNPAIRED = /\p{Surrogate}/u;

const history = (high = HIGH, low = LOW): BaseMessage[] => [
  new HumanMessage(`Look ${high}`),
  new AIMessage({
    content: [{ type: "text", text: `${low} I look.` }],
    tool_calls: [{ id: "call_1", name: `look${high}`, args: { [`city${high}`]: [`Oslo ${low}`] } }],
  }),
  new ToolMessage({ tool_call_id: "call_1", name: `look${high}`, content: `Sunny ${high}` }),
  new HumanMessage({ content: [{ type: "text", text: `Thanks ${low}` }], name: `Ada${high}` }),
];

describe.each(NAMES)("half a surrogate pair, for %s", (dialect) => {
  it("a model input has U+FFFD in place of it, and the history is not changed", () => {
    const stored = history();
    const before = snapshot(stored);
    const input = toModelInput(stored, { dialect, systemPrompt: `Be brief ${HIGH}.` });
    expect(snapshot(stored)).toEqual(before);
    // JSON writes half a pair as an escape.
    expect(JSON.stringify(input.map((message) => message.toDict().data))).not.toMatch(/\\ud[89a-f]/i);
    expect(input.find(({ type }) => type === "tool")?.text).toBe("Sunny \ufffd");
    expect(input[0]?.text).toContain("Be brief \ufffd.");
    expect(validateHistory(input, dialect)).toEqual([]);
  });

  it("an emoji stays", () => {
    const emoji = history("😀", "😀").filter(({ type }) => type === "human");
    const texts = toModelInput(emoji, { dialect }).map(({ text }) => text);
    expect(texts.join()).toContain("Look 😀");
    expect(texts.join()).not.toMatch(UNPAIRED);
  });

  it("validation names each message with one", () => {
    const found = validateHistory(history(), dialect).filter(({ rule }) => rule === "unpaired-surrogate");
    expect(found.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  });

  it("the explanation says so, and does not repeat the text", () => {
    const { stored } = explainInput(history(), { dialect });
    for (const { reasons } of stored) {
      expect(reasons.map(({ code }) => code)).toContain("unpaired-surrogate");
      expect(reasons.map(({ text }) => text).join()).not.toMatch(UNPAIRED);
    }
  });
});

it("a shortened argument is not cut in the middle of an emoji", () => {
  const args = { text: `x${"😀".repeat(600)}` };
  const long = [
    new HumanMessage("go"),
    new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "say", args }] }),
    new ToolMessage({ tool_call_id: "call_1", name: "say", content: "ok" }),
    new HumanMessage("more"),
  ];
  const [, response] = toModelInput(long, { dialect: "openai", maxTokens: 900 });
  const sent = JSON.stringify((response as AIMessage).tool_calls?.[0]?.args);
  expect(sent).toContain("shortened from");
  expect(sent).not.toMatch(/\\ud[89a-f]/i);
  expect(sent).not.toContain("\ufffd");
});

it.each([
  "400 The request body is not valid JSON: no low surrogate in string: line 1 column 195621 (char 195620)",
  "Failed to parse the request body as JSON: messages[319].content: lone leading surrogate in hex escape at line 1",
  "'utf-8' codec can't encode character '\\ud83d' in position 15: surrogates not allowed",
])("a provider that says %j names a known rule", (text) => {
  expect(namesKnownRule(wordsOf(new Error(text), []))).toBe(true);
});

describe("Ids that a provider refuses in a thread because they occur twice", () => {
  const callOf = (id: string) => [
    new AIMessage({ content: "", tool_calls: [{ id, name: "bash", args: {} }] }),
    new ToolMessage({ content: "ok", tool_call_id: id }),
  ];
  const idsOf = (given: readonly string[], dialect: DialectName) =>
    toModelInput([new HumanMessage("x"), ...given.flatMap(callOf)], { dialect }).flatMap((message) =>
      "tool_calls" in message ? ((message as AIMessage).tool_calls ?? []).map(({ id }) => id) : [],
    );

  it("are counted on, in Kimi's own form", () => {
    const bash = (...numbers: readonly number[]) => numbers.map((number) => `functions.bash:${number}`);
    expect(idsOf(bash(0, 0, 0, 1, 7, 7, 2), "kimi")).toEqual(bash(0, 1, 2, 3, 7, 4, 5));
    expect(idsOf([...bash(0), "functions.read:0", ...bash(0)], "kimi")).toEqual([
      ...bash(0),
      "functions.read:0",
      ...bash(1),
    ]);
  });

  it("keep their place in a longer history, and each result has its call's id", () => {
    const given = ["functions.bash:0", "functions.bash:0", "functions.bash:1"];
    expect(idsOf([...given, "functions.bash:0"], "kimi").slice(0, 3)).toEqual(idsOf(given, "kimi"));
    const input = toModelInput([new HumanMessage("x"), ...given.flatMap(callOf)], { dialect: "kimi" });
    expect(validateHistory(input, "kimi")).toEqual([]);
  });

  it("are derived where the provider does not accept such a form", () => {
    for (const id of idsOf(["functions.bash:0", "functions.bash:0"], "mistral"))
      expect(id).toMatch(/^[a-z0-9]{9}$/i);
    expect(idsOf(["call_a", "call_a"], "kimi")[1]).toMatch(/^[0-9a-f]{9}$/);
  });
});
