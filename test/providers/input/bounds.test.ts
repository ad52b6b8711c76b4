/** What each step of the bounds does, in which order, and how results and arguments are shortened. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toModelInput } from "../../../src/index.js";
import { prepareModelInput } from "../../../src/providers/input/to-model-input.js";
import { countTokens, createSummary, sizeOfInput } from "../../support/internals.js";
import { aiOf, humanOf, stepOf, textOf, tokensOf, turnsOf } from "../../support/long-histories.js";
import { snapshot } from "../../support/plain-messages.js";
import { strictViolations } from "../../support/strict-check.js";
import { runs } from "../../support/test-tools.js";

const input = (history: readonly BaseMessage[], maxTokens: number) =>
  prepareModelInput(history, { dialect: "openai", maxTokens });
const idsOf = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);
const kindsOf = (history: readonly BaseMessage[], maxTokens: number) =>
  new Map(input(history, maxTokens).changes.map(({ id, kind }) => [id, kind]));

const callOf = (id: string, args: Record<string, unknown>) => [
  new AIMessage({ id, content: "", tool_calls: [{ id: `${id}-c`, name: "look", args }] }),
  new ToolMessage({ id: `${id}-r`, tool_call_id: `${id}-c`, content: "ok" }),
];

describe("Long results and arguments of earlier turns", () => {
  const history = [humanOf("h0"), ...stepOf("s0", 3_000), aiOf("a0"), ...turnsOf(3), humanOf("now")];

  it("are shortened first, and nothing is left out", () => {
    expect(kindsOf(history, 1_000)).toEqual(new Map([["s0-result-0", "shortened"]]));
  });

  it("are shortened where they are arguments, which stay objects with the same fields", () => {
    const args = {
      query: textOf(2_000, "query"),
      limit: 5,
      tags: Array.from({ length: 3_000 }, () => "tag"),
    };
    const thread = [humanOf("h0"), ...callOf("s0", args), aiOf("a0"), ...turnsOf(2), humanOf("now")];
    const { messages, changes } = input(thread, 600);
    expect(changes).toMatchObject([{ id: "s0", kind: "shortened" }]);
    const call = (messages[1] as AIMessage).tool_calls?.[0];
    expect(call?.args).toMatchObject({ query: expect.stringContaining("query word"), limit: 5 });
    expect(Array.isArray(call?.args["tags"])).toBe(true);
    expect(sizeOfInput(messages)).toBeLessThanOrEqual(600);
  });

  it("are shortened from the oldest on, and only as many as needed", () => {
    const thread = [...turnsOf(12, 400), humanOf("now")];
    const kinds = [...kindsOf(thread, tokensOf(thread) - 100).keys()];
    expect(kinds.length).toBeGreaterThan(0);
    expect(kinds.length).toBeLessThan(10);
    expect(kinds).toEqual(kinds.map((_, turn) => `s${turn}-result-0`));
  });

  it("keep their short form for several turns", () => {
    const later = Array.from({ length: 24 }, (_, turn) => aiOf(`later-${turn}`, 20));
    const forms = later.map((_, turn) => {
      const { messages } = input([...turnsOf(6, 400), ...later.slice(0, turn), humanOf("now")], 2_200);
      return messages.find(({ id }) => id === "s0-result-0")?.text;
    });
    expect(new Set(forms).size).toBeLessThanOrEqual(2);
  });
});

describe("The oldest messages", () => {
  const history = [new SystemMessage("Rules."), ...turnsOf(40), humanOf("now")];

  it("are left out in whole turns, with a note in their place that says how many", () => {
    const { messages, changes } = input(history, 700);
    expect(messages[0]?.text).toBe("Rules.");
    expect(messages[1]?.text).toBe(
      `[${changes.length} earlier messages are left out here, because the conversation is too long. The user did not write this note.]`,
    );
    expect(idsOf(messages)[2]).toBe(`h${changes.length / 4}`);
    expect(changes.every(({ kind }) => kind === "left-out")).toBe(true);
    expect(strictViolations(messages)).toEqual([]);
  });

  it("are left out in blocks, so that the beginning of the input stays the same for several turns", () => {
    const starts = Array.from({ length: 20 }, (_, turn) => {
      const thread = [...turnsOf(40 + turn), humanOf("now")];
      return input(thread, 900).messages[1]?.id;
    });
    expect(new Set(starts).size).toBeLessThan(10);
  });

  it("are left out after the summary, which stays", () => {
    const summary = createSummary("what was said", { kind: "keep", messages: ["gone"] });
    const { messages } = input([summary, ...turnsOf(40), humanOf("now")], 700);
    expect(messages[0]?.text).toBe("what was said");
    expect(messages[1]?.text).toContain("left out here");
  });

  it("do not go because of one long text among them, which is shortened", () => {
    const long = new HumanMessage({ id: "long", content: textOf(50_000, "BEGIN") });
    const thread = [...turnsOf(3), long, aiOf("a"), humanOf("now")];
    expect(kindsOf(thread, 2_000)).toEqual(new Map([["long", "shortened"]]));
  });
});

describe("A turn that alone is too long", () => {
  it("loses its oldest rounds after its results are shortened, and keeps its request and its last round", () => {
    const rounds = Array.from({ length: 60 }, (_, round) => stepOf(`r${round}`, 100)).flat();
    const { messages, changes } = input([humanOf("now"), ...rounds], 1_500);
    expect(idsOf(messages).slice(0, 1)).toEqual(["now"]);
    expect(messages[1]?.text).toContain("left out here");
    expect(idsOf(messages).at(-1)).toBe("r59-result-0");
    expect(changes.some(({ id }) => id === "r59-result-0")).toBe(false);
    expect(strictViolations(messages)).toEqual([]);
  });

  it("has its last results cut to one length if they are too long", () => {
    const last = stepOf("r", 4_000, "a", "b", "c");
    const { messages } = input([humanOf("now"), ...last], 1_500);
    const sizes = messages.filter(({ type }) => type === "tool").map(({ text }) => text.length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(10);
    expect(sizeOfInput(messages)).toBeLessThanOrEqual(1_500);
  });
});

describe("The user's latest message", () => {
  it("stays word for word while it has room", () => {
    const request = humanOf("now", 900);
    const { messages } = input([...turnsOf(40), request], 1_100);
    expect(messages.at(-1)?.content).toBe(request.content);
  });

  it("stays word for word beside a long summary, to whatever length that is shortened", () => {
    const request = humanOf("now", 200);
    const history = [createSummary(textOf(4_000), { kind: "keep", messages: ["gone"] }), request];
    for (let window = 400; window < 3_000; window += 7) {
      const { messages } = input(history, window);
      expect(messages.at(-1)?.content).toBe(request.content);
      expect(sizeOfInput(messages)).toBeLessThanOrEqual(window);
    }
  });

  it("keeps its beginning and its end if it alone is too long", () => {
    const request = new HumanMessage({ id: "now", content: `BEGIN ${"word ".repeat(9_000)}END` });
    const { messages } = input([...turnsOf(3), request], 1_000);
    expect(messages.at(-1)?.text).toMatch(/BEGIN.*shortened from 45009 characters.*END$/s);
    expect(sizeOfInput(messages)).toBeLessThanOrEqual(1_000);
  });

  it("loses the last of its pictures if they have no room, and says so", () => {
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(9_000)}` } };
    const content = [{ type: "text", text: "Compare these." }, ...Array.from({ length: 9 }, () => picture)];
    const { messages } = input([new HumanMessage({ id: "now", content })], 2_000);
    const blocks = messages.at(-1)?.content ?? [];
    expect(Array.isArray(blocks) && blocks.filter(({ type }) => type === "image_url").length).toBe(2);
    expect(messages.at(-1)?.text).toContain("[… 7 pictures or files are left out …]");
  });
});

it("Long results are shortened before short ones are left out, however many follow them", () => {
  const long = Array.from({ length: 10 }, (_, index) => stepOf(`long${index}`, 30_000)).flat();
  // Fewer than OpenAI takes, which leaves out the oldest of more.
  const short = Array.from({ length: 1_000 }, (_, index) => stepOf(`s${index}`, 2)).flat();
  const history = [humanOf("now"), ...long, ...short];
  const { messages, changes } = input(history, 250_000);
  expect(sizeOfInput(messages)).toBeLessThanOrEqual(250_000);
  expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(["shortened"]));
});

describe.each(["openai", "anthropic", "gemini"] as const)(
  "The arguments of the latest calls for %s",
  (dialect) => {
    const text = textOf(400, "note");
    const calls = [
      { id: "one", name: "calculator", args: { expression: "17 * 23" } },
      { id: "two", name: "weather", args: { city: "Oslo", unit: "celsius" } },
      { id: "three", name: "write", args: { path: "notes.md", text } },
    ];
    const open = [
      new AIMessage({ id: "open", content: "", tool_calls: calls }),
      ...calls.map(({ id }) => new ToolMessage({ tool_call_id: id, content: textOf(300) })),
    ];
    const history = [...turnsOf(75), humanOf("now"), ...stepOf("before", 300), ...open];
    const sentIn = (maxTokens: number) =>
      toModelInput(history, { dialect, maxTokens })
        .flatMap((message) => (message instanceof AIMessage ? (message.tool_calls ?? []) : []))
        .slice(-calls.length)
        .map(({ name, args }) => ({ name, args }));
    const whole = calls.map(({ name, args }) => ({ name, args }));

    it.each([
      ["one token too long", tokensOf(history) - 1],
      ["too long for what came before", tokensOf(open) + 40],
      ["too long for their results", tokensOf(open) - 600],
    ])("stay whole if the input is %s", (_title, maxTokens) => {
      expect(sentIn(maxTokens)).toEqual(whole);
    });

    it.each([300, 60, 1])(
      "have the same fields in a window of %i tokens, and only a long text is shortened",
      (window) => {
        const [calculator, weather, write] = sentIn(window);
        expect([calculator, weather]).toEqual(whole.slice(0, 2));
        expect(Object.keys(write?.args ?? {})).toEqual(["path", "text"]);
        expect(write?.args["text"]).toContain(`shortened from ${text.length} characters`);
      },
    );
  },
);

it("Long arguments of several calls are shortened to any length that leaves something of each", () => {
  const numbers = Array.from({ length: 326 }, (_, index) => index);
  const args = [{ text: textOf(419, "argument") }, { numbers }];
  const calls = args.map((one, index) => ({ id: `c${index}`, name: "look", args: one }));
  const open = new AIMessage({ content: textOf(100), tool_calls: calls });
  const results = calls.map(({ id }) => new ToolMessage({ tool_call_id: id, content: textOf(300) }));
  for (let window = 350; window < 900; window += 3) {
    const { messages } = input([humanOf("now", 1), open, ...results], window);
    expect(sizeOfInput(messages)).toBeLessThanOrEqual(window);
  }
});

it("An input that fits is the same array", () => {
  const history = turnsOf(3);
  const tokens = sizeOfInput(history);
  expect(prepareModelInput(history, { dialect: "openai", maxTokens: tokens }).messages).toBe(history);
});

// Results, in a window.

const resultsOf = (messages: readonly BaseMessage[]) => messages.filter(({ type }) => type === "tool");
const shortenResults = (messages: readonly BaseMessage[], maxTokens: number) =>
  prepareModelInput(messages, { maxTokens, dialect: "openai" }).messages;
/** A request, a call and its result. */
const lookedUp = (content: ToolMessage["content"], request: BaseMessage = humanOf("h")) => [
  request,
  new AIMessage({ content: "", tool_calls: [{ id: "c", name: "look", args: {} }] }),
  new ToolMessage({ tool_call_id: "c", content }),
];
/** A result keeps at least this many tokens, or all of its tokens. */
const LEAST = 40;

describe("A batch that is longer than the budget", () => {
  const input = [humanOf("h"), ...stepOf("old", 1000, "a", "b"), ...stepOf("new", 1000, "c", "d")];
  const shorter = shortenResults(input, 1500);

  it("keeps most of the newest result", () => {
    const sizes = resultsOf(shorter).map(countTokens);
    expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
    expect(sizes.at(-1)).toBeGreaterThan(300);
  });

  it("says that it was shortened, and from what length", () => {
    for (const result of resultsOf(shorter)) expect(result.text).toContain("[… shortened from 49");
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
