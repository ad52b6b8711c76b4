/** The rules of the reducer, by number. The laws in `test/laws` compare it with an oracle that is written after them. */

import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  HumanMessageChunk,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { markRecovered } from "../../src/history/result.js";
import { createSummary } from "../../src/history/summary.js";
import { ai, human, messagesIn, placeholder, removal, result, summary } from "../support/make-messages.js";
import { outline } from "../support/plain-messages.js";
import { stateViolations } from "../support/strict-check.js";

const reduce = (history: unknown, update: unknown): BaseMessage[] => reduceMessages(history, update).messages;

/**
 * Cases in one line each, as `messagesIn` reads it: `history | update => expected ids ! kinds of repairs`. A derived id
 * is written `*`. A history can be given for all of them, in whose place `…` stands.
 */
function each(cases: Readonly<Record<string, string>>, shared = ""): void {
  it.each(Object.entries(cases))("%s", (_title, line) => {
    const [given = "", outcome = ""] = line.replace("…", shared).split(" => ");
    const [history = "", update = ""] = given.split(" | ");
    const [expected, repairs] = outcome.split(" ! ");
    const reduced = reduceMessages(messagesIn(history), messagesIn(update));
    expect(outline(reduced.messages).replace(/\b[0-9a-f]{32}\b/g, "*")).toBe(expected);
    expect(reduced.repairs.map(({ kind }) => kind)).toEqual(repairs?.split(" ") ?? []);
    expect(stateViolations(reduced.messages)).toEqual([]);
  });
}

const unreadable = () => {
  throw new Error("Not to be read");
};

describe("Rule 1: it accepts what messagesStateReducer accepts", () => {
  it.each<[title: string, update: unknown, expected: readonly string[]]>([
    ["one message", human("h", "hi"), ["human hi"]],
    ["a string", "hi", ["human hi"]],
    ["a list of strings", ["hi", "ho"], ["human hi", "human ho"]],
    [
      "tuples",
      [
        ["ai", "hi"],
        ["system", "ho"],
      ],
      ["ai hi", "system ho"],
    ],
    ["an object with a role", { role: "user", content: "hi" }, ["human hi"]],
    ["an object with a type", [{ type: "ai", content: "hi" }], ["ai hi"]],
    ["a chunk", new HumanMessageChunk("hi"), ["human hi"]],
    ["nothing", undefined, []],
  ])("%s", (_title, update, expected) => {
    const { messages, repairs } = reduceMessages([], update);
    expect(messages.map(({ type, content }) => `${type} ${content}`)).toEqual(expected);
    expect(stateViolations(messages)).toEqual([]);
    expect(repairs).toEqual([]);
  });

  it("stores a chunk as its non-chunk class", () => {
    const chunk = new AIMessageChunk({
      content: "",
      id: "a",
      tool_call_chunks: [{ type: "tool_call_chunk", id: "c", name: "f", args: "{}", index: 0 }],
    });
    const [message] = reduce([], chunk);
    expect(message?.constructor).toBe(AIMessage);
    expect(message).toMatchObject({ id: "a", tool_calls: [{ id: "c", name: "f", args: {} }] });
  });

  it("derives a missing or blank id from what precedes the message and what it says", () => {
    const idOf = (history: BaseMessage[], content: string, id?: string) =>
      reduce(history, { role: "user", content, id }).at(-1)?.id;
    const first = idOf([human("h1")], "hi");
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(idOf([human("h1")], "hi")).toBe(first);
    expect(idOf([human("h1")], "hi", "")).toBe(first);
    expect(idOf([human("h2")], "hi")).not.toBe(first);
    expect(idOf([human("h1")], "ho")).not.toBe(first);
  });
});

describe("Rule 3: it never throws", () => {
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
      const message = Object.defineProperty(new AIMessage("hi"), field, {
        get: unreadable,
        enumerable: true,
      });
      const state = reduce([human("h")], [message]);
      expect(() => reduce(state, [result("t", "c"), human("h2")])).not.toThrow();
    },
  );

  it("for a stored list with a hole or with an object that cannot be read", () => {
    expect(outline(reduce(Object.assign(new Array(2), { 1: human("h") }), []))).toBe("h");
    expect(outline(reduce([new Proxy({}, { get: unreadable, has: unreadable }), human("h")], []))).toBe("h");
  });
});

describe("Rule 4: a removal is resolved where it stands", () => {
  each({
    "a message": "h1 h2 | -h1 => h2",
    "an AI message together with its results":
      "h a(c1,c2) t1:c1 t2:c2 h2 | -a => h h2 ! result-removed result-removed",
    "a result, after which its call can get another one": "a(c1,c2) t1:c1 t2:c2 h | -t1 new:c1 => a new t2 h",
    "an unknown id, which changes nothing": "h | -x => h ! removal-ignored",
    "a message twice, as two branches can do": "h1 h2 | -h1 -h1 => h2 ! removal-ignored",
    "everything before it, in the history and in the update": "h1 | h2 -* h3 => h3",
    "everything in an empty history": " | -* => ",
  });

  it("keeps the array when a removal names an unknown id", () => {
    const history = [human("h")];
    expect(reduce(history, [removal("x")])).toBe(history);
  });
});

describe("Rule 5: a message whose id is in the history replaces that message in place", () => {
  each(
    {
      "a human message": "… | h~new => a t1 t2 h",
      "an AI message with the same calls": "… | a(c1,c2) => a t1 t2 h",
      "one with its calls in another order": "… | a(c2,c1) => a t2 t1 h",
      "one without one of the calls, whose result is removed": "… | a(c2) => a t2 h ! result-removed",
      "one that becomes a human message, and the results are removed":
        "… | a => a h ! result-removed result-removed",
      "a result, which moves out of the group and after it": "… | t1 => a t2 t1 h",
      "the n-th call of an id keeps the result of the n-th call of that id":
        "a(c,d,c) t1:c t2:d t3:c | a(c,c,d) => a t1 t3 t2",
    },
    "a(c1,c2) t1:c1 t2:c2 h",
  );

  it("stores the new message, and reports a lost result with the complete message", () => {
    expect(reduce([human("h", "old")], [human("h", "new")])[0]?.content).toBe("new");
    const lost = result("t1", "c1");
    const { repairs } = reduceMessages([ai("a", "c1"), lost], [ai("a")]);
    expect(repairs).toEqual([{ kind: "result-removed", message: lost, key: "result-removed:t1" }]);
  });
});

describe("Rule 6: a result is placed directly after its message, in call order", () => {
  each({
    "even if it is late": "h a(c) h2 a2() | t:c => h a t h2 a2",
    "in any order of arrival": "a(c1,c2,c3) | t3:c3 t1:c1 t2:c2 => a t1 t2 t3",
    "after the nearest message with a call of its id without a result":
      "a1(c) h a2(c) h2 | t2:c t1:c => a1 t1 h a2 t2 h2",
    "at the first of two calls of one id in one message": "a(c,d,c) | t1:c t2:c td:d => a t1 td t2",
    "at its own place if its message id is in the history, even if another call of its id is nearer":
      "a1(c) t:c h a2(c) | t:c~new => a1 t h a2",
    "in place of the nearest earlier result if no call of its id is free":
      "a1(c) t1:c a2(c) t2:c | t3:c => a1 t1 a2 t3 ! result-replaced",
    "in place of the first such result if a message has the id twice":
      "a(c,c) t1:c t2:c | t3:c => a t3 t2 ! result-replaced",
    "at a call whose result was removed in the same update, after all of its id were taken":
      "a1(c) h a2(c) | t1:c t2:c t3:c -t2 t4:c => a1 t4 h a2 t3 ! result-replaced",
    "at its call with a new id, if it has the message id of another call's result":
      "a(c,d) t:c h | t:d => a t * h ! id-derived",
    "at its call with a new id, in the same update as the other result":
      "a(c,d) h | t:c t:d => a t * h ! id-derived",
    "at its call with a new id, if the result with its id answers a call of another message":
      "a(c) t:c h b(d) | t:d => a t h b * ! id-derived",
    "in the place of an earlier result, which it replaces with a new id":
      "a(c,d) t:c u:d h | t:d => a t * h ! result-replaced id-derived",
    "once for each call, if all are written again for another call":
      "a(c,d,d) r:d s:d | r:c s:c => a * r s ! id-derived result-replaced id-derived",
    "at its call with a new id, if it has the message id of a message that is not a result":
      "a(c) h b(d) td:d | b:c => a * h b td ! id-derived",
    "at its call with a new id, if that call is in the message that has its id":
      "a(c) h | a:c => a * h ! id-derived",
  });
});

describe("Rule 6: a placeholder gives way to a real result, and never replaces one", () => {
  each({
    "a late result replaces the placeholder of its call in place":
      "a(c1,c2) p?c1 t2:c2 h | t1:c1 => a t1 t2 h ! placeholder-replaced",
    "a placeholder for an answered call is dropped": "a(c) t:c | p?c => a t ! placeholder-refused",
    "a placeholder with the message id of a real result is dropped":
      "a(c) t:c | t?c => a t ! placeholder-refused",
    "a placeholder replaces a placeholder": "a(c) p?c | p2?c => a p2 ! result-replaced",
    "a placeholder goes to an earlier free call before it replaces a placeholder":
      "a1(c) h a2(c) p?c | p2?c => a1 p2 h a2 p",
    "a call with only a placeholder counts as free, and comes before an earlier one":
      "a1(c) h a2(c) p?c | t:c => a1 h a2 t ! placeholder-replaced",
    "an earlier free call comes before a nearer taken one": "a1(c) h a2(c) t2:c | t1:c => a1 t1 h a2 t2",
  });

  it("has both messages in the repair", () => {
    const [former, by] = [placeholder("p", "c"), result("t", "c")];
    const { repairs } = reduceMessages([ai("a", "c"), former], [by]);
    expect(repairs).toEqual([
      { kind: "placeholder-replaced", message: former, by, key: "placeholder-replaced:p" },
    ]);
  });
});

describe("Rule 7: a result without a call before it is refused and reported", () => {
  it("even if its call comes later, with the complete message", () => {
    const early = result("t", "c");
    const { messages, repairs } = reduceMessages([human("h")], [early, ai("a", "c")]);
    expect(outline(messages)).toBe("h a");
    expect(repairs).toEqual([{ kind: "orphan-refused", message: early, key: "orphan-refused:t" }]);
  });

  it("with keys that distinguish two orphans, even if their ids are blank", () => {
    const { repairs } = reduceMessages([], [result("", "c", "one"), result("", "d", "two")]);
    expect(new Set(repairs.map(({ key }) => key)).size).toBe(2);
  });

  each({
    "but a call that an archived summary covers counts: its result is kept after the summary":
      "s[a|c] h | t:c => s t h",
    "and a call that the summary does not name does not count": "s[a|c] h | t:d => s h ! orphan-refused",
    "a summary whose messages stay opens no calls": "a(c) s[a] h | t:c => a t s h",
  });
});

describe("Rule 8: a summary is placed after the messages that it covers", () => {
  each(
    {
      "after the last message that it covers": "… | s[h1,a1,t1] => sys h1 a1 t1 s h2 a2",
      "never between a call and its result": "… | s[a1] => sys h1 a1 t1 s h2 a2",
      "after the leading system messages if no covered message is in the history":
        "… | s[gone] => sys s h1 a1 t1 h2 a2",
      "and archived messages leave in the same step, but not those that another branch appended":
        "… | new s[h1,a1,t1|c] => sys s h2 a2 new",
      "a result that arrived meanwhile for an archived call is kept after the summary":
        "… | s[h1,a1|c] => sys s t1 h2 a2",
      "and moves to the next summary when that archives the first": "s[a|c] t:c h | s2[s|c] => s2 t h",
      "a result that it names leaves, although its call stays": "… | s[t1|] => sys h1 a1 s h2 a2",
      "removing a summary whose messages stay undoes it": "… | s[h1,a1,t1] -s => sys h1 a1 t1 h2 a2",
    },
    "sys! h1 a1(c) t1:c h2 a2(d)",
  );

  it("archives once: written again, it does not remove messages that came back since", () => {
    const again = () => summary("s", { kind: "archive", checkpoint: "c", messages: ["h1"], calls: [] });
    const { messages } = reduceMessages([human("h1"), human("h2")], [again(), human("h1")]);
    expect(outline(messages)).toBe("s h2 h1");
    expect(outline(reduce(messages, messages))).toBe("s h2 h1");
    expect(outline(reduce(messages, [again()]))).toBe("s h2 h1");
  });
});

describe("Rule 9: nothing but a missing id is written", () => {
  it("into the message, and into the form that a checkpoint stores", () => {
    const message = new HumanMessage("hi");
    const [stored] = reduce([], [message]);
    expect(stored).toBe(message);
    expect(message.id).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.parse(JSON.stringify(message)).kwargs.id).toBe(message.id);
    // It keeps this id in another thread.
    expect(reduce([human("h")], [message]).at(-1)).toBe(message);
  });

  it("and an id that was set later is written into the form that a checkpoint stores", () => {
    const message = Object.assign(new HumanMessage("hi"), { id: "set-later" });
    expect(reduce([], [message])).toEqual([message]);
    expect(JSON.parse(JSON.stringify(message)).kwargs.id).toBe("set-later");
  });

  it("also into a result, a summary, a chunk and a message of the stored history", () => {
    const answer = Object.assign(result("", "c"), { id: undefined });
    const summary = new HumanMessage({ ...createSummary("said", { kind: "keep", messages: ["a"] }), id: "" });
    const chunk = new AIMessageChunk("hi");
    const stored = new HumanMessage("hi");
    const messages = reduce([ai("a", "c"), stored], [answer, summary, chunk]);
    expect(messages.map(({ id }) => id)).toEqual(["a", answer.id, summary.id, stored.id, chunk.id]);
    expect(new Set(messages.map(({ id }) => id?.length))).toEqual(new Set([1, 32]));
  });

  it("but into no frozen message, which is copied, and into no result that is refused", () => {
    const message = Object.freeze(new HumanMessage("hi"));
    const orphan = Object.assign(result("", "unknown"), { id: undefined });
    const [stored] = reduce([], [message, orphan]);
    expect([message.id, orphan.id]).toEqual([undefined, undefined]);
    expect(stored?.id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("Rule 10: a state that is not in this form is brought into it first", () => {
  each({
    "a misplaced result is moved": "a(c) h t:c |  => a t h ! result-moved",
    "an orphan is refused": "t:c h |  => h ! orphan-refused",
    "the first of two results stays": "a(c) t1:c t2:c | h => a t1 h ! duplicate-refused",
    "a removal in it is resolved": "h1 h2 -h1 |  => h2",
  });

  it("a second message with a used id gets another id", () => {
    const { messages, repairs } = reduceMessages([human("h", "one"), human("h", "two")], []);
    expect(stateViolations(messages)).toEqual([]);
    expect(messages.map(({ content }) => content)).toEqual(["one", "two"]);
    expect(repairs).toMatchObject([{ kind: "id-derived", previousId: "h" }]);
  });

  it("an array that grew in place after the reducer returned it is read again", () => {
    const { messages } = reduceMessages([], [ai("a", "c"), human("h")]);
    messages.push(result("t", "c"));
    expect(outline(reduce(messages, [human("h2")]))).toBe("a t h h2");
  });

  it("plain objects in a stored list become messages", () => {
    const stored = JSON.parse(JSON.stringify([human("h"), ai("a", "c"), result("t", "c")]));
    expect(outline(reduce(stored, [human("h2")]))).toBe("h a t h2");
  });
});

describe("A recovered message", () => {
  const history = messagesIn("h1 a1(c1,c2) r1:c1 h2");
  const written = (...update: readonly unknown[]) => outline(reduce(history, update));

  it.each([
    ["after a message", "h1", "h1 new a1 r1 h2"],
    ["after the results of a message with calls", "a1", "h1 a1 r1 new h2"],
    ["after all results of the group of a result", "r1", "h1 a1 r1 new h2"],
    ["first", "", "new h1 a1 r1 h2"],
    ["last, if the message that it follows is not there", "unknown", "h1 a1 r1 h2 new"],
  ])("is placed %s", (_place, after, expected) => {
    expect(written(markRecovered(ai("new"), after))).toBe(expected);
  });

  it("can follow another one, and can have calls", () => {
    const first = markRecovered(ai("x", "c3"), "h1");
    const update = [first, markRecovered(human("y"), "x"), result("r3", "c3")];
    expect(written(...update)).toBe("h1 x r3 y a1 r1 h2");
  });

  it("keeps its place when it is written again", () => {
    const update = ["h1", "h2"].map((after) => markRecovered(ai("x"), after));
    expect(written(...update)).toBe("h1 x a1 r1 h2");
  });

  it("is appended if the message that it follows was removed by the same update", () => {
    expect(written(removal("h1"), markRecovered(ai("x"), "h1"))).toBe("a1 r1 h2 x");
  });

  it.each([{ after: 1 }, {}, null, "h1", true])("is a message like any other if its mark is %j", (mark) => {
    const message = human("x");
    message.additional_kwargs["tether_recovered"] = mark;
    expect(written(message)).toBe("h1 a1 r1 h2 x");
  });
});
