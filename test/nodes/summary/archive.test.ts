import {
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { InMemoryStore } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { visibleHistory } from "../../../src/history/plan-summary.js";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { coverageOf, createSummary } from "../../../src/history/summary.js";
import { archiveMessages, archiveNamespace } from "../../../src/threads/archive.js";
import { readFullHistory, restoreCovered } from "../../../src/threads/full-history.js";
import { shortSummariser } from "../../support/function-model.js";
import { humanOf, turnsOf } from "../../support/long-histories.js";
import { ai, human, placeholder, result } from "../../support/make-messages.js";
import { outline, toPlainList } from "../../support/plain-messages.js";
import { summarizeOnce } from "../../support/run-summarize.js";
import { stateViolations } from "../../support/strict-check.js";

const ID = "thread";
const history = turnsOf(12, 60);

const overTheWire = (value: unknown) => JSON.parse(JSON.stringify(value));

/** A history that was summarised into the archive this many times. */
async function archived(times = 1) {
  const store = new InMemoryStore();
  let messages: BaseMessage[] = history;
  let said = history;
  for (let time = 0; time < times; time += 1) {
    if (time > 0) {
      const more = turnsOf(12 * (time + 1), 60).slice(48 * time);
      said = [...said, ...more];
      messages = reduceMessages(messages, more).messages;
    }
    ({ messages } = await summarizeOnce(messages, shortSummariser(), { store, coveredMessages: "archive" }));
  }
  return { store, messages, said };
}

describe.each([1, 3])("An archived message, after %i summaries,", (times) => {
  it("has left the state, and is in the store under its ids", async () => {
    const { store, messages, said } = await archived(times);
    expect(messages.length).toBeLessThan(12);
    const [summary] = messages.filter((message) => coverageOf(message) !== undefined);
    expect(messages.filter((message) => coverageOf(message) !== undefined)).toHaveLength(1);
    const stored = await store.search(archiveNamespace(ID), { limit: 1000 });
    const gone = said.filter((message) => !messages.some(({ id }) => id === message.id));
    for (const { id } of gone) expect(stored.map(({ key }) => key)).toContain(id);
    expect(summary).toBeDefined();
  });

  it("is read back in order, from the state of the graph and from that of the SDK", async () => {
    const { store, messages, said } = await archived(times);
    expect(toPlainList(await readFullHistory(store, ID, { messages }))).toEqual(toPlainList(said));
    const plain = overTheWire(messages.map((message) => ({ ...message.toDict().data, type: message.type })));
    expect(outline(await readFullHistory(store, ID, { messages: plain }))).toBe(outline(said));
  });

  it("is brought back by an update that goes over the wire", async () => {
    const { store, messages, said } = await archived(times);
    const update = overTheWire(await restoreCovered(store, ID, { messages }));
    const restored = reduceMessages(messages, update).messages;
    expect(outline(restored)).toBe(outline(said));
    expect(restored.map(({ type, text }) => [type, text])).toEqual(
      said.map(({ type, text }) => [type, text]),
    );
    expect(restored.flatMap((message) => Reflect.get(message, "tool_calls") ?? [])).toEqual(
      said.flatMap((message) => Reflect.get(message, "tool_calls") ?? []),
    );
    expect(stateViolations(restored)).toEqual([]);
    expect(visibleHistory(restored).summaries).toEqual([]);
  });
});

describe("A thread whose covered messages were kept", () => {
  it("is read without a store", async () => {
    const { messages } = await summarizeOnce(history, shortSummariser());
    expect(outline(await readFullHistory(undefined, ID, { messages }))).toBe(outline(history));
  });

  it("is brought back by removing the summary, and by restoreCovered", async () => {
    const { messages, summary } = await summarizeOnce(history, shortSummariser());
    const id = messages.find((message) => message.text === summary?.text)?.id ?? "";
    expect(outline(reduceMessages(messages, [new RemoveMessage({ id })]).messages)).toBe(outline(history));
    const update = overTheWire(await restoreCovered(undefined, ID, { messages }));
    expect(outline(reduceMessages(messages, update).messages)).toBe(outline(history));
  });
});

describe("Where a thread was first kept and later archived", () => {
  async function mixed() {
    const store = new InMemoryStore();
    const first = await summarizeOnce(history, shortSummariser());
    const more = turnsOf(24, 60).slice(48);
    const start = reduceMessages(first.messages, more).messages;
    const { messages } = await summarizeOnce(start, shortSummariser(), { store, coveredMessages: "archive" });
    return { store, messages, said: [...history, ...more] };
  }

  it("nothing is lost", async () => {
    const { store, messages, said } = await mixed();
    expect(outline(await readFullHistory(store, ID, { messages }))).toBe(outline(said));
  });

  it("the messages of the first summary stay hidden", async () => {
    const { messages } = await mixed();
    expect(visibleHistory(messages).rest.length).toBeLessThan(12);
  });
});

describe("A system message", () => {
  it("stays in the thread, even if a summary that is archived names it", async () => {
    const store = new InMemoryStore();
    const named = createSummary("Before.", { kind: "keep", messages: ["rules"] });
    const thread = [new SystemMessage({ id: "rules", content: "Be brief." }), named, ...history];
    const { messages } = await summarizeOnce(thread, shortSummariser(), {
      store,
      coveredMessages: "archive",
    });
    expect(visibleHistory(messages).system.map(({ id }) => id)).toEqual(["rules"]);
    expect(outline(await readFullHistory(store, ID, { messages }))).toBe(`rules ${outline(history)}`);
  });
});

describe("A result that comes late for an archived call", () => {
  const start = [human("hx"), ai("ax", "c"), placeholder("p", "c"), ...history];

  it("is kept, read back with its call, and brought back with it", async () => {
    const store = new InMemoryStore();
    const pass = await summarizeOnce(start, shortSummariser(), { store, coveredMessages: "archive" });
    const { messages, repairs } = reduceMessages(pass.messages, [result("late", "c")]);
    expect(repairs).toEqual([]);
    const expected = outline([human("hx"), ai("ax", "c"), result("late", "c"), ...history]);
    expect(outline(await readFullHistory(store, ID, { messages }))).toBe(expected);
    const update = await restoreCovered(store, ID, { messages });
    expect(outline(reduceMessages(messages, update).messages)).toBe(expected);
  });

  it("is archived with the next summary, and can still be read back", async () => {
    const store = new InMemoryStore();
    const options = { store, coveredMessages: "archive" } as const;
    const first = await summarizeOnce(start, shortSummariser(), options);
    const more = turnsOf(24, 60).slice(48);
    const between = reduceMessages(first.messages, [result("late", "c"), ...more]).messages;
    const { messages } = await summarizeOnce(between, shortSummariser(), options);
    expect(outline(messages)).not.toContain("late");
    expect(outline(await readFullHistory(store, ID, { messages }))).toBe(
      outline([human("hx"), ai("ax", "c"), result("late", "c"), ...history, ...more]),
    );
  });

  it("is kept even if two summaries were made since", async () => {
    const store = new InMemoryStore();
    const options = { store, coveredMessages: "archive" } as const;
    const first = await summarizeOnce(start, shortSummariser(), options);
    const more = turnsOf(24, 60).slice(48);
    const between = reduceMessages(first.messages, more).messages;
    const second = await summarizeOnce(between, shortSummariser(), options);
    const { messages, repairs } = reduceMessages(second.messages, [result("late", "c")]);
    expect(repairs).toEqual([]);
    expect(outline(await readFullHistory(store, ID, { messages }))).toContain("hx ax late");
  });

  it("belongs to the nearest call of its id, as rule 6 says, if the archived call has a result", async () => {
    const answered = [human("hx"), ai("ax", "c"), result("t1", "c"), ...history];
    const store = new InMemoryStore();
    const pass = await summarizeOnce(answered, shortSummariser(), { store, coveredMessages: "archive" });
    const again = [human("hy"), ai("ay", "c"), result("t2", "c"), result("t3", "c")];
    const { messages } = reduceMessages(pass.messages, again);
    expect(outline(messages)).toContain("hy ay t3");
    expect(outline(await readFullHistory(store, ID, { messages }))).toContain("hx ax t1");
  });
});

describe("A placeholder for an archived call that has a result", () => {
  it("stays with each later summary", async () => {
    const options = { store: new InMemoryStore(), coveredMessages: "archive" } as const;
    const answered = [human("hx"), ai("ax", "c"), result("t1", "c"), ...history];
    const first = await summarizeOnce(answered, shortSummariser(), options);
    let messages = reduceMessages(first.messages, [placeholder("p", "c")]).messages;
    for (const turn of [1, 2]) {
      const more = turnsOf(12 * (turn + 1), 60).slice(48 * turn);
      const start = reduceMessages(messages, more).messages;
      ({ messages } = await summarizeOnce(start, shortSummariser(), options));
      expect(outline(messages)).toContain(" p ");
    }
    expect(outline(await readFullHistory(options.store, ID, { messages }))).toContain("hx ax t1");
  });
});

describe("The archive", () => {
  it("is overwritten with the same content, not written twice", async () => {
    const store = new InMemoryStore();
    for (let time = 0; time < 2; time += 1) await archiveMessages(store, ID, history);
    expect(await store.search(archiveNamespace(ID), { limit: 1000 })).toHaveLength(history.length);
  });

  it("has a valid namespace for each thread", async () => {
    const store = new InMemoryStore();
    const ids = ["a.b", "a/b", "a%2Eb", "langgraph", "线程", "a b"];
    for (const id of ids) {
      await archiveMessages(store, id, [new HumanMessage({ id: "h", content: id })]);
    }
    for (const id of ids) {
      const item = await store.get(archiveNamespace(id), "h");
      expect(JSON.stringify(item?.value)).toContain(JSON.stringify(id));
    }
  });

  it("keeps the order of a thread whose archived messages a client sends again", async () => {
    const { store, messages, said } = await archived();
    const again = reduceMessages(messages, history.slice(0, 4)).messages;
    expect(outline(await readFullHistory(store, ID, { messages: again }))).toBe(outline(said));
  });

  it("holds messages with all their fields", async () => {
    const store = new InMemoryStore();
    const content = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }];
    const rich = new HumanMessage({ id: "rich", content, name: "Ada", additional_kwargs: { own: 1 } });
    const fields = { id: "t", tool_call_id: "c", content: "failed", artifact: { rows: [1] } };
    const bad = new ToolMessage({ ...fields, status: "error" });
    const start = [rich, ai("a", "c"), bad, ...history, humanOf("request")];
    const { messages } = await summarizeOnce(start, shortSummariser(), { store, coveredMessages: "archive" });
    const whole = await readFullHistory(store, ID, { messages });
    expect(whole[0]).toMatchObject({ content, name: "Ada", additional_kwargs: { own: 1 } });
    expect(whole[2]).toMatchObject({ status: "error", artifact: { rows: [1] }, tool_call_id: "c" });
  });
});
