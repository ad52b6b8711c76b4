import { type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver, type Operation, type OperationResults } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../src/history/call.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { coverageOf, createSummary } from "../../src/history/summary.js";
import { visibleHistory } from "../../src/history/visible-history.js";
import { createAgentGraph } from "../../src/index.js";
import {
  type ArchiveReader,
  archiveMessages,
  archiveNamespace,
  type MissingMessage,
} from "../../src/threads/archive.js";
import { readFullHistory, restoreCovered } from "../../src/threads/full-history.js";
import { nested } from "../support/foreign-values.js";
import { humanOf, turnsOf } from "../support/long-histories.js";
import { ai, human, messagesIn, placeholder, result, summary } from "../support/make-messages.js";
import { FunctionModel, shortSummariser } from "../support/models.js";
import { outline } from "../support/plain-messages.js";
import { summarizeOnce } from "../support/run-summarize.js";
import { stateViolations } from "../support/strict-check.js";
import { inThread, user } from "../support/thread.js";

const ID = "thread";
const history = turnsOf(12, 60);
/** The turns after those, and after others. */
const more = (passes = 1) => turnsOf(12 * (passes + 1), 60).slice(48 * passes);

/** One summary into the archive. */
async function archive(messages: readonly BaseMessage[], store: InMemoryStore = new InMemoryStore()) {
  const pass = await summarizeOnce(messages, shortSummariser(), { store, coveredMessages: "archive" });
  return { store, messages: pass.messages };
}
const whole = async (store: InMemoryStore, messages: readonly BaseMessage[]) =>
  outline(await readFullHistory(store, ID, { messages }));
const reduce = (messages: readonly BaseMessage[], update: readonly unknown[]) =>
  reduceMessages(messages, update).messages;

it("A system message stays in the thread, even if a summary that is archived names it", async () => {
  const named = createSummary("Before.", { kind: "keep", messages: ["rules"] });
  const thread = [new SystemMessage({ id: "rules", content: "Be brief." }), named, ...history];
  const { store, messages } = await archive(thread);
  expect(visibleHistory(messages).system.map(({ id }) => id)).toEqual(["rules"]);
  expect(await whole(store, messages)).toBe(`rules ${outline(history)}`);
});

describe("A result that comes late for an archived call", () => {
  const open = [human("hx"), ai("ax", "c"), placeholder("p", "c"), ...history];
  const answered = [human("hx"), ai("ax", "c"), result("t1", "c"), ...history];

  it("is archived with the next summary, and can still be read back", async () => {
    const { store, messages: first } = await archive(open);
    const { messages } = await archive(reduce(first, [result("late", "c"), ...more()]), store);
    expect(outline(messages)).not.toContain("late");
    expect(await whole(store, messages)).toBe(
      outline([human("hx"), ai("ax", "c"), result("late", "c"), ...history, ...more()]),
    );
  });

  it("is kept even if two summaries were made since", async () => {
    const { store, messages: first } = await archive(open);
    const second = await archive(reduce(first, more()), store);
    const { messages, repairs } = reduceMessages(second.messages, [result("late", "c")]);
    expect(repairs).toEqual([]);
    expect(await whole(store, messages)).toContain("hx ax late");
  });

  it("belongs to the nearest call of its id, as rule 6 says, if the archived call has a result", async () => {
    const { store, messages: first } = await archive(answered);
    const messages = reduce(first, messagesIn("hy ay(c) t2:c t3:c"));
    expect(outline(messages)).toContain("hy ay t3");
    expect(await whole(store, messages)).toContain("hx ax t1");
  });

  it("stays with each later summary if it is a placeholder of a call that has a result", async () => {
    const { store, messages: first } = await archive(answered);
    let messages = reduce(first, [placeholder("p", "c")]);
    for (const turn of [1, 2]) {
      ({ messages } = await archive(reduce(messages, more(turn)), store));
      expect(outline(messages)).toContain(" p ");
    }
    expect(await whole(store, messages)).toContain("hx ax t1");
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

  it("holds messages with all their fields", async () => {
    const content = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }];
    const rich = new HumanMessage({ id: "rich", content, name: "Ada", additional_kwargs: { own: 1 } });
    const fields = { id: "t", tool_call_id: "c", content: "failed", artifact: { rows: [1] } };
    const bad = new ToolMessage({ ...fields, status: "error" });
    const start = [rich, ai("a", "c"), bad, ...history, humanOf("request")];
    const { store, messages } = await archive(start);
    const whole = await readFullHistory(store, ID, { messages });
    expect(whole[0]).toMatchObject({ content, name: "Ada", additional_kwargs: { own: 1 } });
    expect(whole[2]).toMatchObject({ status: "error", artifact: { rows: [1] }, tool_call_id: "c" });
  });
});

// What is read of a thread whose archive has lost or changed messages, and of summaries that name anything.

async function archivedOnce() {
  const { store, messages } = await archive(history);
  const covered = messages.flatMap((message) => coverageOf(message)?.messages ?? []);
  const id = covered.find((one) => history.some((message) => message.id === one && message.type === "human"));
  return { store, messages, covered, id: id ?? "" };
}

async function read(store: ArchiveReader | undefined, messages: readonly unknown[]) {
  const missing: MissingMessage[] = [];
  const onMissing = (one: MissingMessage) => missing.push(one);
  const whole = await readFullHistory(store, ID, { messages }, { onMissing });
  return { whole, missing };
}

const isSummary = (message: BaseMessage) => coverageOf(message) !== undefined;

const damages: readonly [title: string, value: Record<string, unknown> | undefined, reason: string][] = [
  ["was deleted", undefined, "missing"],
  ["is not a message", { tampered: true }, "unreadable"],
  ["has an unknown type", { type: "nobody", data: { content: "x" } }, "unreadable"],
  ["is a removal", { type: "remove", data: { content: "", id: "h3" } }, "unreadable"],
  ["has no data", { type: "human", data: null }, "unreadable"],
];

describe("A message of the archive that", () => {
  it.each(damages)(
    "%s is reported, its summary stays, and the rest can be restored",
    async (_title, value, reason) => {
      const { store, messages, id } = await archivedOnce();
      const kept = (await store.get(archiveNamespace(ID), id))?.value;
      if (value === undefined) await store.delete(archiveNamespace(ID), id);
      else await store.put(archiveNamespace(ID), id, value);
      const others = outline(history.filter((message) => message.id !== id));
      const { whole, missing } = await read(store, messages);
      expect(missing).toEqual([{ id, reason }]);
      expect(whole.filter(isSummary).map((message) => coverageOf(message)?.messages)).toEqual([[id]]);
      expect(outline(whole.filter((message) => !isSummary(message)))).toBe(others);

      const restored = reduce(messages, await restoreCovered(store, ID, { messages }));
      expect(stateViolations(restored)).toEqual([]);
      expect(outline(restored.filter((message) => !isSummary(message)))).toBe(others);
      // The summary still leads to the message, for the day when it is found again.
      await store.put(archiveNamespace(ID), id, kept ?? {});
      const again = await read(store, restored);
      expect(again.missing).toEqual([]);
      expect(again.whole.map((message) => message.id).toSorted()).toEqual(
        history.map((message) => message.id).toSorted(),
      );
    },
  );

  it("called a tool leaves the result of its call after the summary", async () => {
    const { store, messages } = await archivedOnce();
    await store.delete(archiveNamespace(ID), "s0");
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual([{ id: "s0", reason: "missing" }]);
    const place = whole.findIndex(isSummary);
    expect(whole[place + 1]?.id).toBe("s0-result-0");
    expect(stateViolations(whole)).toEqual([]);
  });

  it("has another id than its key is read under its key", async () => {
    const { store, messages, id } = await archivedOnce();
    const data = { content: "x", id: history.at(-1)?.id };
    await store.put(archiveNamespace(ID), id, { type: "human", data });
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual([]);
    expect(outline(whole)).toBe(outline(history));
  });

  it("has malformed or deep fields is read in a sound form", async () => {
    const { store, messages, covered } = await archivedOnce();
    const [id = ""] = covered;
    const data = { content: "x", id, tool_calls: {}, additional_kwargs: { deep: nested(10_000) } };
    await store.put(archiveNamespace(ID), id, { type: "ai", data });
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual([]);
    expect(whole.map((message) => message.id)).toEqual(history.map((message) => message.id));
  });
});

describe("Without its archive, a thread is read as far as the state has it", () => {
  it.each<[title: string, store: ArchiveReader | undefined, reason: string]>([
    ["an empty store", new InMemoryStore(), "missing"],
    ["no store", undefined, "missing"],
    ["a store that fails", { get: () => Promise.reject(new Error("down")) }, "unreadable"],
  ])("%s", async (_title, store, reason) => {
    const { messages, covered } = await archivedOnce();
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual(covered.map((id) => ({ id, reason })));
    expect(outline(whole)).toBe(outline(messages));
    expect(coverageOf(whole[0] as BaseMessage)?.messages).toEqual(covered);
  });

  it("and nobody has to ask what is missing", async () => {
    const { messages } = await archivedOnce();
    expect(outline(await readFullHistory(undefined, ID, { messages }))).toBe(outline(messages));
  });
});

describe("Summaries that name anything end no reading:", () => {
  it.each<[title: string, line: string]>([
    ["itself", "h1 s[s,h1|] h2"],
    ["one another", "h1 s[r,h1|] r[s,h2|] h2"],
    ["messages that never were", "h1 s[x,y|] h2"],
    ["the same message twice", "h1 s[h1,h1|] h2"],
    ["later messages", "h1 s[h2|] h2"],
  ])("%s", async (_what, line) => {
    const messages = messagesIn(line);
    const { whole } = await read(new InMemoryStore(), messages);
    const texts = whole.filter((message) => !isSummary(message)).map(({ id }) => id);
    expect(texts.toSorted()).toEqual(["h1", "h2"]);
    const restored = await restoreCovered(new InMemoryStore(), ID, { messages });
    expect(reduceMessages(messages, restored).messages.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["h1", "h2"]),
    );
  });

  it("ten thousand of them, each inside the next", async () => {
    const store = new InMemoryStore();
    const covering = (id: string) => ({ kind: "archive" as const, messages: [id], calls: [] });
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      index === 0 ? human("h0") : summary(`s${index}`, covering(index === 1 ? "h0" : `s${index - 1}`)),
    );
    await archiveMessages(store, ID, chain.slice(0, -1));
    const last = chain.at(-1) ?? human("none");
    const { whole, missing } = await read(store, [last, new HumanMessage({ content: "now", id: "now" })]);
    expect(missing).toEqual([]);
    expect(whole.map(({ id }) => id)).toEqual(["h0", "now"]);
  });
});

class CountingStore extends InMemoryStore {
  batches: number[] = [];

  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    this.batches.push(operations.length);
    return super.batch(operations);
  }
}

/** A thread that was summarised into the archive this many times. */
async function archivedTimes(times: number) {
  const store = new CountingStore();
  let messages: BaseMessage[] = [];
  for (let time = 0; time < times; time += 1) {
    ({ messages } = await archive(reduce(messages, more(time)), store));
  }
  const reads: string[] = [];
  const reader: ArchiveReader = {
    get: (namespace, key) => {
      reads.push(key);
      return store.get(namespace, key);
    },
  };
  return { store, reader, messages, reads };
}

async function pages(reader: ArchiveReader, messages: readonly BaseMessage[], limit: number) {
  const found: BaseMessage[] = [];
  for (let before: string | undefined; ; before = found[0]?.id) {
    const page = await readFullHistory(reader, ID, { messages }, { limit, before });
    found.unshift(...page);
    if (page.length < limit) return found;
  }
}

describe("A page of a conversation", () => {
  it("has any number of messages, and all pages are the whole conversation", async () => {
    const { reader, messages } = await archivedTimes(4);
    const whole = await readFullHistory(reader, ID, { messages });
    for (const limit of [1, 2, 3, 5, 7, 16, 1000])
      expect(outline(await pages(reader, messages, limit))).toBe(outline(whole));
  });

  it("does not read the messages before it", async () => {
    const { reader, messages, reads } = await archivedTimes(6);
    const whole = await readFullHistory(reader, ID, { messages });
    reads.length = 0;
    const [first] = await readFullHistory(reader, ID, { messages }, { limit: 20 });
    expect(reads.length).toBeLessThan(30);
    reads.length = 0;
    await readFullHistory(reader, ID, { messages }, { limit: 20, before: first?.id });
    expect(reads.length).toBeLessThan(30);
    expect(whole.length).toBeGreaterThan(200);
  });

  it("has a late result with its call, and not where it came", async () => {
    const { reader, messages, reads } = await archivedTimes(2);
    const before = await readFullHistory(reader, ID, { messages });
    const call = before.flatMap(callsOf)[3];
    const late = new ToolMessage({ id: "late", content: "late", tool_call_id: call?.id ?? "" });
    const more = reduceMessages(messages, [humanOf("next", 5), late]).messages;
    const whole = await readFullHistory(reader, ID, { messages: more });
    for (const limit of [1, 4, 6]) expect(outline(await pages(reader, more, limit))).toBe(outline(whole));
    expect(reads.length).toBeGreaterThan(0);
  });

  it("keeps the summary of a message that the archive has lost", async () => {
    const { store, reader, messages } = await archivedTimes(2);
    const [lost] = await readFullHistory(reader, ID, { messages });
    await store.delete(archiveNamespace(ID), lost?.id ?? "");
    const whole = await readFullHistory(reader, ID, { messages });
    expect(outline(await pages(reader, messages, 10))).toBe(outline(whole));
  });

  it.each([
    [{ limit: 0 }, "limit"],
    [{ before: 1 }, "before"],
    [{ limit: 3, before: "nobody" }, "before"],
    [{ limt: 3 }, "limt"],
  ])("refuses %j by name", async (options, name) => {
    const { reader, messages } = await archivedTimes(1);
    await expect(readFullHistory(reader, ID, { messages }, options as never)).rejects.toMatchObject({
      message: expect.stringContaining(`\`${name}\``),
    });
  });
});

it("a run writes an archive in one batch", async () => {
  const store = new CountingStore();
  const model = new FunctionModel(() => "A response.");
  const graph = createAgentGraph({
    model,
    store,
    checkpointer: new MemorySaver(),
    coveredMessages: "archive",
    maxTokensBeforeSummary: 500,
    messagesToKeep: 2,
    steering: false,
  });
  await graph.updateState(inThread(ID), { messages: turnsOf(12, 60) });
  await graph.invoke(user("go"), inThread(ID));
  const stored = await store.search(archiveNamespace(ID), { limit: 1000 });
  expect(stored.length).toBeGreaterThan(20);
  expect(store.batches).toContain(stored.length);
});
