/** Where a history is cut, and which old calls a request leaves out. `cutoff-laws` has the laws of the cut. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidSettingError } from "../../src/errors.js";
import { filterToolCalls, findSafeCutoff, type Keep } from "../../src/history/cut.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { explainInput } from "../../src/providers/input/explain-input.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { build, messageEntries } from "../support/arbitraries.js";
import { human, messagesIn, result } from "../support/make-messages.js";
import { outline, snapshot } from "../support/plain-messages.js";
import { callIdsOf, strictViolations } from "../support/strict-check.js";
import { expectWarnings, OLD_PACKAGES, runs } from "../support/test-tools.js";

it.each<[keep: Keep, name: string, shown: string]>([
  [{ messages: -1 }, "messages", "-1"],
  [{ messages: 1.5 }, "messages", "1.5"],
  [{ tokens: Number.NaN }, "tokens", "NaN"],
  [{ tokens: Number.POSITIVE_INFINITY }, "tokens", "Infinity"],
])("findSafeCutoff refuses %o by name", (keep, name, shown) => {
  const cut = () => findSafeCutoff(messagesIn("h a()"), keep);
  expect(cut).toThrow(InvalidSettingError);
  expect(cut).toThrow(`Expected \`${name}\` to be an integer of 0 or more, got \`${shown}\`.`);
});

/** A case in one line, as `messagesIn` reads it: `history | number of calls => ids`. */
function readCase(line: string) {
  const [given = "", expected] = line.split(" => ");
  const [history = "", max] = given.split(" | ");
  return { messages: messagesIn(history), max: Number(max), expected };
}

const two = "h1 c1(x) r1:x a1() h2 c2(y) r2:y a2() h3";

describe("Calls of earlier turns", () => {
  it.each(
    Object.entries({
      "the last ones stay": `${two} | 1 => h1 a1 h2 c2 r2 a2 h3`,
      "all stay if there are not more": `${two} | 2 => h1 c1 r1 a1 h2 c2 r2 a2 h3`,
      "none stay with 0": `${two} | 0 => h1 a1 h2 a2 h3`,
      "all calls of the current turn stay": `${two} c3(x,y) r3:x r4:y | 0 => h1 a1 h2 a2 h3 c3 r3 r4`,
      "a batch is cut from its beginning": "h1 c1(x,y,z) rx:x ry:y rz:z a1() h2 | 2 => h1 c1 ry rz a1 h2",
      "the calls that stay are the last ones without a gap":
        "h1 c1(x) r1:x a1() h2 c2(x,y) r2:x r3:y a2() h3 | 1 => h1 a1 h2 c2 r3 a2 h3",
      "a repeated id is another call":
        "h1 c1(x) r1:x a1() h2 c2(x) r2:x a2() h3 c3(x) r3:x a3() h4 | 1 => h1 a1 h2 a2 h3 c3 r3 a3 h4",
      "orphans are not counted, and stay": "h1 c1(x) r1:x a1() o1:q o2:q h2 | 1 => h1 c1 r1 a1 o1 o2 h2",
      "system messages stay": `sys! ${two} | 0 => sys h1 a1 h2 a2 h3`,
    }),
  )("%s", (_title, line) => {
    const { messages, max, expected } = readCase(line);
    expect(outline(filterToolCalls(messages, max))).toBe(expected);
  });

  it("the array is the same if nothing is removed", () => {
    const messages = messagesIn(two);
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
    const kept = (count: number, max: number, clearAtLeast?: number) => {
      const turns = Array.from({ length: count }, (_, at) =>
        messagesIn(`h${at} c${at}(x) r${at}:x a${at}()`),
      );
      const left = filterToolCalls([...turns.flat(), human("now")], { max, clearAtLeast });
      return left.filter(({ type }) => type === "tool").length;
    };
    expect([4, 5, 6, 7, 8, 9].map((count) => kept(count, 4, 3))).toEqual([4, 2, 3, 4, 2, 3]);
    expect([4, 5, 6].map((count) => kept(count, 4))).toEqual([4, 4, 4]);
    expect(kept(3, 1, 5)).toBe(0);
  });
});

const text = { type: "text", text: "I look." };
const use = (id: string) => ({ type: "tool_use", id, name: "look", input: { id } });
const uses = [use("x"), use("y")];
const listed = (id: string) => ({ id, name: "look", args: { id } });
const tool_calls = [listed("x"), listed("y")];
const raw = (id: string) => ({ id, type: "function" as const, function: { name: "look", arguments: "{}" } });
const sent = { additional_kwargs: { tool_calls: [raw("x"), raw("y")] } };

/** One turn whose two calls, `x` and `y`, are written with the fields, and the turn after it. */
const written = (fields: object) => [
  human("h1"),
  new AIMessage({ id: "c1", ...fields } as never),
  ...messagesIn("rx:x ry:y h2"),
];

describe("A call is removed everywhere it is written", () => {
  expectWarnings(OLD_PACKAGES);

  it.each([
    ["in the list", { content: "I look.", tool_calls }],
    ["in blocks", { content: [text, ...uses] }],
    ["in both", { content: [text, ...uses], tool_calls }],
    ["in the list and as OpenAI sent it", { content: "I look.", tool_calls, ...sent }],
    ["only as OpenAI sent it", { content: "I look.", ...sent }],
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
    for (const content of ["", "  ", uses, [{ type: "text", text: " " }, ...uses]])
      expect(outline(filterToolCalls(written({ content, tool_calls }), 0))).toBe("h1 h2");
  });

  it("but signed reasoning keeps all of its calls or none", () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
    const messages = written({ content: [thinking, text, ...uses], tool_calls });
    expect(filterToolCalls(messages, 2)).toBe(messages);
    for (const max of [0, 1]) {
      const filtered = filterToolCalls(messages, max);
      expect(outline(filtered)).toBe("h1 c1 h2");
      expect(JSON.stringify(filtered)).not.toContain("sig");
    }
  });

  it("also if the content has blocks that are null or of another type", () => {
    const filtered = filterToolCalls(written({ content: [null, 5, text], tool_calls }), 0);
    expect(outline(filtered)).toBe("h1 c1 h2");
    expect(filtered[1]?.text).toContain("I look.");
  });
});

it("A result is never left without its call", () => {
  const messages = [...written({ content: "", tool_calls }), result("z", "z")];
  const answered = filterToolCalls(messages, 1).filter(ToolMessage.isInstance);
  expect(answered.map((one) => one.tool_call_id)).toEqual(["y", "z"]);
});

/** A slow version of the contract: how many calls there are, and how many stay. */
function countSlowly(messages: readonly BaseMessage[], max: number) {
  const turnStart = messages.findLastIndex((message) => message.type === "human");
  const count = (from: number, to: number) => messages.slice(from, to).flatMap(callIdsOf).length;
  const earlier = turnStart < 0 ? 0 : count(0, turnStart);
  const current = count(Math.max(turnStart, 0), messages.length);
  return { all: earlier + current, kept: Math.min(earlier, max) + current };
}

it("For any sound history and any number, the right number of calls stays, text and users stay, and the list stays sound", () => {
  const sound = messageEntries(14).map((list) => {
    const values = build(list.filter(({ kind }) => kind !== "summary" && kind !== "again"));
    return repairHistory(values).messages;
  });
  const law = fc.property(sound, fc.nat({ max: 8 }), (messages, max) => {
    const filtered = filterToolCalls(messages, max);
    const { all, kept } = countSlowly(messages, max);
    expect(strictViolations(filtered)).toEqual([]);
    expect(filtered.flatMap(callIdsOf)).toHaveLength(kept);
    const said = (list: readonly BaseMessage[]) =>
      list.filter((one) => one.type !== "tool" && one.text.trim() !== "").map((one) => one.text);
    expect(said(filtered)).toEqual(said(messages));
    const humans = (list: readonly BaseMessage[]) => list.filter(HumanMessage.isInstance);
    expect(humans(filtered)).toEqual(humans(messages));
    expect(filterToolCalls(filtered, max)).toBe(filtered);
    if (kept === all) expect(filtered).toBe(messages);
  });
  fc.assert(law, runs(300));
});

describe("A list that holds one message object twice", () => {
  it.each(
    Object.entries({
      "keeps the later call and its result": "h a(x) r:x h2 a(x) r:x h3 | 1 => h h2 a r h3",
      "keeps the calls of the current turn": "h a(x) r:x h2 a(x) r:x | 0 => h h2 a r",
      "keeps the result of another call of the same id": "h a1(x) r:x a2(x) r:x h2 | 1 => h a2 r h2",
      "keeps an orphan result": "r:x h a(x) r:x h2 | 0 => r h h2",
    }),
  )("%s", (_title, line) => {
    const { messages: copies, max, expected } = readCase(line);
    const messages = copies.map(({ id }) => copies.find((message) => message.id === id) ?? human("?"));
    expect(outline(filterToolCalls(messages, max))).toBe(expected);
    expect(outline(filterToolCalls(copies, max))).toBe(expected);
    const options = { dialect: "openai", maxToolCallsFromHistory: max } as const;
    const { input } = explainInput(messages, options);
    expect(snapshot(input)).toEqual(snapshot(toModelInput(messages, options)));
  });
});
