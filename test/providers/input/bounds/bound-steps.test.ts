/** What each step of the bounds does, and in which order. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createSummary } from "../../../../src/history/summary.js";
import { sizeOfInput } from "../../../../src/providers/input/shorten.js";
import { prepareModelInput, toModelInput } from "../../../../src/providers/input/to-model-input.js";
import { aiOf, humanOf, stepOf, textOf, turnsOf } from "../../../support/long-histories.js";
import { strictViolations } from "../../../support/strict-check.js";

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
    expect(changes).toEqual([{ id: "s0", kind: "shortened", bound: "window" }]);
    const call = (messages[1] as AIMessage).tool_calls?.[0];
    expect(call?.args).toMatchObject({ query: expect.stringContaining("query word"), limit: 5 });
    expect(Array.isArray(call?.args["tags"])).toBe(true);
    expect(sizeOfInput(messages)).toBeLessThanOrEqual(600);
  });

  it("are shortened from the oldest on, and only as many as needed", () => {
    const thread = [...turnsOf(6, 400), humanOf("now")];
    const kinds = [...kindsOf(thread, 2_200).keys()];
    expect(kinds.length).toBeGreaterThan(0);
    expect(kinds.length).toBeLessThan(6);
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

describe("With a budget alone", () => {
  it("only results and arguments are shortened", () => {
    const thread = [...turnsOf(40, 100), humanOf("now", 5_000)];
    const { messages, changes } = prepareModelInput(thread, { dialect: "openai", budget: 500 });
    expect(messages).toHaveLength(thread.length);
    expect(new Set(changes.map(({ id }) => id?.includes("result")))).toEqual(new Set([true]));
    expect(changes.every(({ bound }) => bound === "budget")).toBe(true);
  });

  it("long results are shortened, however many short ones follow them", () => {
    const long = Array.from({ length: 10 }, (_, index) => stepOf(`long${index}`, 10_000)).flat();
    const short = Array.from({ length: 3_500 }, (_, index) => stepOf(`s${index}`, 2)).flat();
    const history = [humanOf("now"), ...long, ...short];
    const { messages } = prepareModelInput(history, { dialect: "openai", budget: 120_000 });
    expect(sizeOfInput(messages)).toBeLessThanOrEqual(120_000);
  });
});

it("An input that fits is not changed, and its messages are those of the history", () => {
  const history = turnsOf(3);
  const messages = toModelInput(history, { dialect: "openai", maxTokens: sizeOfInput(history) });
  expect(messages.every((message, index) => message === history[index])).toBe(true);
});
