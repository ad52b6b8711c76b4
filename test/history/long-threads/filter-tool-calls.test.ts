import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidSettingError } from "../../../src/errors.js";
import { filterEach, filterToolCalls } from "../../../src/history/cut.js";
import { copyMessage } from "../../../src/history/message.js";
import { repairHistory } from "../../../src/history/reducer/repair-history.js";
import { explainInput } from "../../../src/providers/input/explain-input.js";
import { toModelInput } from "../../../src/providers/input/to-model-input.js";
import { build, messageEntries } from "../../support/arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../../support/expect-warnings.js";
import { runs } from "../../support/law-runs.js";
import { ai, human, result, system } from "../../support/make-messages.js";
import { outline, snapshot } from "../../support/plain-messages.js";
import { callIdsOf, strictViolations } from "../../support/strict-check.js";

const turn = (number: number, ...callIds: string[]) => [
  human(`h${number}`),
  ai(`c${number}`, ...callIds),
  ...callIds.map((callId, index) => result(`r${number}${index === 0 ? "" : index}`, callId)),
  ai(`a${number}`),
];
const two = () => [...turn(1, "x"), ...turn(2, "y"), human("h3")];

describe("Calls of earlier turns", () => {
  it.each<[title: string, messages: readonly BaseMessage[], max: number, expected: string]>([
    ["the last ones stay", two(), 1, "h1 a1 h2 c2 r2 a2 h3"],
    ["all stay if there are not more", two(), 2, outline(two())],
    ["none stay with 0", two(), 0, "h1 a1 h2 a2 h3"],
    [
      "all calls of the current turn stay",
      [...two(), ai("c3", "x", "y"), result("r3", "x"), result("r31", "y")],
      0,
      "h1 a1 h2 a2 h3 c3 r3 r31",
    ],
    ["a batch is cut from its beginning", [...turn(1, "x", "y", "z"), human("h2")], 2, "h1 c1 r11 r12 a1 h2"],
    [
      "the calls that stay are the last ones without a gap",
      [...turn(1, "x"), ...turn(2, "x", "y"), human("h3")],
      1,
      "h1 a1 h2 c2 r21 a2 h3",
    ],
    [
      "a repeated id is another call",
      [...turn(1, "x"), ...turn(2, "x"), ...turn(3, "x"), human("h4")],
      1,
      "h1 a1 h2 a2 h3 c3 r3 a3 h4",
    ],
    [
      "orphans are not counted, and stay",
      [...turn(1, "x"), result("o1", "?"), result("o2", "?"), human("h2")],
      1,
      "h1 c1 r1 a1 o1 o2 h2",
    ],
    ["system messages stay", [system("sys"), ...two()], 0, "sys h1 a1 h2 a2 h3"],
  ])("%s", (_title, messages, max, expected) => {
    expect(outline(filterToolCalls(messages, max))).toBe(expected);
  });

  it("the array is the same if nothing is removed", () => {
    const messages = two();
    expect(filterToolCalls(messages, 2)).toBe(messages);
    expect(filterToolCalls(messages, 100)).toBe(messages);
  });

  it.each([-1, 0.5, Number.NaN])("%d is refused", (max) => {
    expect(() => filterToolCalls([], max)).toThrow(InvalidSettingError);
    expect(() => filterToolCalls([], { max })).toThrow(InvalidSettingError);
  });

  it.each([-1, 0, 0.5])("clearAtLeast: %d is refused", (clearAtLeast) => {
    expect(() => filterToolCalls([], { max: 1, clearAtLeast })).toThrow("clearAtLeast");
  });

  it("with clearAtLeast they are left out in blocks", () => {
    const turns = (count: number) =>
      Array.from({ length: count }, (_, index) => turn(index, `c${index}`)).flat();
    const kept = (count: number, max: number, clearAtLeast?: number) =>
      filterToolCalls([...turns(count), human("now")], { max, clearAtLeast }).filter(
        ({ type }) => type === "tool",
      ).length;
    expect([4, 5, 6, 7, 8, 9].map((count) => kept(count, 4, 3))).toEqual([4, 2, 3, 4, 2, 3]);
    expect([4, 5, 6].map((count) => kept(count, 4))).toEqual([4, 4, 4]);
    expect(kept(3, 1, 5)).toBe(0);
  });
});

const text = { type: "text", text: "I look." };
const use = (id: string) => ({ type: "tool_use", id, name: "look", input: { id } });
const listed = (id: string) => ({ id, name: "look", args: { id } });
const raw = (id: string) => ({ id, type: "function" as const, function: { name: "look", arguments: "{}" } });

/** One turn whose two calls, `x` and `y`, are written with the fields, and the turn after it. */
const written = (fields: object) => [
  human("h1"),
  new AIMessage({ id: "c1", ...fields } as never),
  result("rx", "x"),
  result("ry", "y"),
  human("h2"),
];

describe("A call is removed everywhere it is written", () => {
  expectWarnings(OLD_PACKAGES);

  it.each([
    ["in the list", { content: "I look.", tool_calls: [listed("x"), listed("y")] }],
    ["in blocks", { content: [text, use("x"), use("y")] }],
    ["in both", { content: [text, use("x"), use("y")], tool_calls: [listed("x"), listed("y")] }],
    [
      "in the list and as OpenAI sent it",
      {
        content: "I look.",
        tool_calls: [listed("x"), listed("y")],
        additional_kwargs: { tool_calls: [raw("x"), raw("y")] },
      },
    ],
    [
      "only as OpenAI sent it",
      { content: "I look.", additional_kwargs: { tool_calls: [raw("x"), raw("y")] } },
    ],
  ])("%s", (_title, fields) => {
    const messages = written(fields);
    const before = snapshot(messages);
    const [, one] = filterToolCalls(messages, 1);
    expect(callIdsOf(one ?? human("?"))).toEqual(["y"]);
    expect(JSON.stringify(one)).not.toContain('"x"');
    const none = filterToolCalls(messages, 0);
    expect(outline(none)).toBe("h1 c1 h2");
    expect(none[1]?.text).toBe("I look.");
    expect(JSON.stringify(none)).not.toMatch(/"[xy]"/);
    expect(snapshot(messages)).toEqual(before);
  });

  it("together with its message if that has no other content", () => {
    for (const content of [
      "",
      "  ",
      [use("x"), use("y")],
      [{ type: "text", text: " " }, use("x"), use("y")],
    ]) {
      const messages = written({ content, tool_calls: [listed("x"), listed("y")] });
      expect(outline(filterToolCalls(messages, 0))).toBe("h1 h2");
    }
  });

  it("but signed reasoning keeps all of its calls or none", () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
    const messages = written({
      content: [thinking, text, use("x"), use("y")],
      tool_calls: [listed("x"), listed("y")],
    });
    expect(filterToolCalls(messages, 2)).toBe(messages);
    for (const max of [0, 1]) {
      const filtered = filterToolCalls(messages, max);
      expect(outline(filtered)).toBe("h1 c1 h2");
      expect(JSON.stringify(filtered)).not.toContain("sig");
    }
  });
});

/** A slow version of the contract: which calls before the last user message stay. */
function keptSlowly(
  messages: readonly BaseMessage[],
  max: number,
): { readonly all: number; readonly kept: number } {
  const turnStart = messages.findLastIndex((message) => message.type === "human");
  const count = (from: number, to: number) => messages.slice(from, to).flatMap(callIdsOf).length;
  const earlier = turnStart < 0 ? 0 : count(0, turnStart);
  const current = count(Math.max(turnStart, 0), messages.length);
  return { all: earlier + current, kept: Math.min(earlier, max) + current };
}

describe("For any sound history and any number", () => {
  const sound = messageEntries(14).map((list) => {
    const values = build(list.filter(({ kind }) => kind !== "summary" && kind !== "again"));
    return repairHistory(values).messages;
  });

  it("the right number of calls stays, text and users stay, and the list stays sound", () => {
    const law = fc.property(sound, fc.nat({ max: 8 }), (messages, max) => {
      const filtered = filterToolCalls(messages, max);
      expect(strictViolations(filtered)).toEqual([]);
      expect(filtered.flatMap(callIdsOf)).toHaveLength(keptSlowly(messages, max).kept);
      const said = (list: readonly BaseMessage[]) =>
        list.filter((one) => one.type !== "tool" && one.text.trim() !== "").map((one) => one.text);
      expect(said(filtered)).toEqual(said(messages));
      const humans = (list: readonly BaseMessage[]) => list.filter(HumanMessage.isInstance);
      expect(humans(filtered)).toEqual(humans(messages));
      expect(filterToolCalls(filtered, max)).toBe(filtered);
      if (keptSlowly(messages, max).kept === keptSlowly(messages, max).all) expect(filtered).toBe(messages);
    });
    fc.assert(law, runs(300));
  });
});

it("A result is never left without its call", () => {
  const messages = [
    ...written({ content: "", tool_calls: [listed("x"), listed("y")] }),
    new ToolMessage({ tool_call_id: "z", content: "" }),
  ];
  const answered = filterToolCalls(messages, 1)
    .filter(ToolMessage.isInstance)
    .map((one) => one.tool_call_id);
  expect(answered).toEqual(["y", "z"]);
});

it("Content with blocks that are null or of another type is filtered too", () => {
  const messages = written({ content: [null, 5, text], tool_calls: [listed("x"), listed("y")] });
  const filtered = filterToolCalls(messages, 0);
  expect(filtered.map(({ type }) => type)).toEqual(["human", "ai", "human"]);
  expect(filtered[1]?.text).toContain("I look.");
});

describe("A list that holds one message object twice", () => {
  const copied = (messages: readonly BaseMessage[]) => messages.map((message) => copyMessage(message, {}));
  const asked = ai("a", "x");
  const answer = result("r", "x");

  it.each<[title: string, messages: readonly BaseMessage[], max: number, expected: string]>([
    [
      "keeps the later call and its result",
      [human("h"), asked, answer, human("h2"), asked, answer, human("h3")],
      1,
      "h h2 a r h3",
    ],
    [
      "keeps the calls of the current turn",
      [human("h"), asked, answer, human("h2"), asked, answer],
      0,
      "h h2 a r",
    ],
    [
      "keeps the result of another call of the same id",
      [human("h"), ai("a1", "x"), answer, ai("a2", "x"), answer, human("h2")],
      1,
      "h a2 r h2",
    ],
    ["keeps an orphan result", [answer, human("h"), asked, answer, human("h2")], 0, "r h h2"],
  ])("%s", (_title, messages, max, expected) => {
    expect(outline(filterToolCalls(messages, max))).toBe(expected);
    expect(outline(filterToolCalls(copied(messages), max))).toBe(expected);
    const left = filterEach(messages, max).filter((message) => message !== undefined);
    expect(outline(left)).toBe(expected);
    const options = { dialect: "openai", maxToolCallsFromHistory: max } as const;
    expect(snapshot(explainInput(messages, options).input)).toEqual(
      snapshot(toModelInput(messages, options)),
    );
  });
});
