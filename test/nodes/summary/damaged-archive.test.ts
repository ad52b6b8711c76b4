/** What is read of a thread whose archive has lost or changed messages, and of summaries that name anything. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { InMemoryStore } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { coverageOf } from "../../../src/history/summary.js";
import {
  type ArchiveReader,
  archiveMessages,
  archiveNamespace,
  type MissingMessage,
} from "../../../src/threads/archive.js";
import { readFullHistory, restoreCovered } from "../../../src/threads/full-history.js";
import { nested } from "../../support/foreign-values.js";
import { shortSummariser } from "../../support/function-model.js";
import { turnsOf } from "../../support/long-histories.js";
import { human, summary } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";
import { summarizeOnce } from "../../support/run-summarize.js";
import { stateViolations } from "../../support/strict-check.js";
import { titled } from "../../support/titled.js";

const ID = "thread";
const history = turnsOf(12, 60);

async function archived() {
  const store = new InMemoryStore();
  const options = { store, coveredMessages: "archive" } as const;
  const { messages } = await summarizeOnce(history, shortSummariser(), options);
  const [summaryMessage] = messages.filter((message) => coverageOf(message) !== undefined);
  const covered = summaryMessage === undefined ? [] : (coverageOf(summaryMessage)?.messages ?? []);
  const id = covered.find((one) => history.some((message) => message.id === one && message.type === "human"));
  return { store, messages, covered, id: id ?? "" };
}

/** Reads the thread, and what is missing. */
async function read(store: ArchiveReader | undefined, messages: readonly unknown[]) {
  const missing: MissingMessage[] = [];
  const onMissing = (one: MissingMessage) => missing.push(one);
  const whole = await readFullHistory(store, ID, { messages }, { onMissing });
  return { whole, missing };
}

const damages = titled<{ title: string; value: Record<string, unknown> | undefined; reason: string }>([
  { title: "was deleted", value: undefined, reason: "missing" },
  { title: "is not a message", value: { tampered: true }, reason: "unreadable" },
  { title: "has an unknown type", value: { type: "nobody", data: { content: "x" } }, reason: "unreadable" },
  { title: "is a removal", value: { type: "remove", data: { content: "", id: "h3" } }, reason: "unreadable" },
  { title: "has no data", value: { type: "human", data: null }, reason: "unreadable" },
]);

describe("A message of the archive that", () => {
  it.each(damages)(
    "%s is reported, and its summary stays in its place",
    async (_title, { value, reason }) => {
      const { store, messages, id } = await archived();
      if (value === undefined) await store.delete(archiveNamespace(ID), id);
      else await store.put(archiveNamespace(ID), id, value);
      const { whole, missing } = await read(store, messages);
      expect(missing).toEqual([{ id, reason }]);
      const summaries = whole.filter((message) => coverageOf(message) !== undefined);
      expect(summaries.map((message) => coverageOf(message)?.messages)).toEqual([[id]]);
      const rest = whole.filter((message) => coverageOf(message) === undefined);
      expect(outline(rest)).toBe(outline(history.filter((message) => message.id !== id)));
    },
  );

  it.each(damages)("%s leaves the rest to be restored", async (_title, { value }) => {
    const { store, messages, id } = await archived();
    const kept = (await store.get(archiveNamespace(ID), id))?.value;
    if (value === undefined) await store.delete(archiveNamespace(ID), id);
    else await store.put(archiveNamespace(ID), id, value);
    const restored = reduceMessages(messages, await restoreCovered(store, ID, { messages })).messages;
    expect(stateViolations(restored)).toEqual([]);
    const rest = restored.filter((message) => coverageOf(message) === undefined);
    expect(outline(rest)).toBe(outline(history.filter((message) => message.id !== id)));
    // The summary still leads to the message, for the day when it is found again.
    await store.put(archiveNamespace(ID), id, kept ?? {});
    const { whole, missing } = await read(store, restored);
    expect(missing).toEqual([]);
    expect(whole.map((message) => message.id).toSorted()).toEqual(
      history.map((message) => message.id).toSorted(),
    );
  });

  it("called a tool leaves the result of its call after the summary", async () => {
    const { store, messages } = await archived();
    await store.delete(archiveNamespace(ID), "s0");
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual([{ id: "s0", reason: "missing" }]);
    const place = whole.findIndex((message) => coverageOf(message) !== undefined);
    expect(whole[place + 1]?.id).toBe("s0-result-0");
    expect(stateViolations(whole)).toEqual([]);
  });

  it("has another id than its key is read under its key", async () => {
    const { store, messages, id } = await archived();
    await store.put(archiveNamespace(ID), id, {
      type: "human",
      data: { content: "x", id: history.at(-1)?.id },
    });
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual([]);
    expect(outline(whole)).toBe(outline(history));
  });

  it("has malformed or deep fields is read in a sound form", async () => {
    const { store, messages, covered } = await archived();
    const [id = ""] = covered;
    const data = { content: "x", id, tool_calls: {}, additional_kwargs: { deep: nested(10_000) } };
    await store.put(archiveNamespace(ID), id, { type: "ai", data });
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual([]);
    expect(whole.map((message) => message.id)).toEqual(history.map((message) => message.id));
  });
});

describe("Without its archive, a thread is read as far as the state has it", () => {
  it.each(
    titled<{ title: string; store: ArchiveReader | undefined; reason: string }>([
      { title: "an empty store", store: new InMemoryStore(), reason: "missing" },
      { title: "no store", store: undefined, reason: "missing" },
      {
        title: "a store that fails",
        store: { get: () => Promise.reject(new Error("down")) },
        reason: "unreadable",
      },
    ]),
  )("%s", async (_title, { store, reason }) => {
    const { messages, covered } = await archived();
    const { whole, missing } = await read(store, messages);
    expect(missing).toEqual(covered.map((id) => ({ id, reason })));
    expect(outline(whole)).toBe(outline(messages));
    expect(coverageOf(whole[0] as BaseMessage)?.messages).toEqual(covered);
  });

  it("and nobody has to ask what is missing", async () => {
    const { messages } = await archived();
    expect(outline(await readFullHistory(undefined, ID, { messages }))).toBe(outline(messages));
  });
});

describe("Summaries that name anything end no reading:", () => {
  const archive = (id: string, ...messages: string[]) =>
    summary(id, { kind: "archive", messages, calls: [] });
  const forged: readonly (readonly [string, readonly BaseMessage[]])[] = [
    ["itself", [human("h1"), archive("s", "s", "h1"), human("h2")]],
    ["one another", [human("h1"), archive("s", "r", "h1"), archive("r", "s", "h2"), human("h2")]],
    ["messages that never were", [human("h1"), archive("s", "x", "y"), human("h2")]],
    ["the same message twice", [human("h1"), archive("s", "h1", "h1"), human("h2")]],
    ["later messages", [human("h1"), archive("s", "h2"), human("h2")]],
  ];

  it.each(forged)("%s", async (_what, messages) => {
    const { whole } = await read(new InMemoryStore(), messages);
    const texts = whole.filter((message) => coverageOf(message) === undefined).map(({ id }) => id);
    expect(texts.toSorted()).toEqual(["h1", "h2"]);
    const restored = await restoreCovered(new InMemoryStore(), ID, { messages });
    expect(reduceMessages(messages, restored).messages.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["h1", "h2"]),
    );
  });

  it("ten thousand of them, each inside the next", async () => {
    const store = new InMemoryStore();
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      index === 0 ? human("h0") : archive(`s${index}`, index === 1 ? "h0" : `s${index - 1}`),
    );
    await archiveMessages(store, ID, chain.slice(0, -1));
    const last = chain.at(-1) ?? human("none");
    const { whole, missing } = await read(store, [last, new HumanMessage({ content: "now", id: "now" })]);
    expect(missing).toEqual([]);
    expect(whole.map(({ id }) => id)).toEqual(["h0", "now"]);
  });
});
