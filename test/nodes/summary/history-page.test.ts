import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver, type Operation, type OperationResults } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../../src/history/call.js";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { createAgentGraph } from "../../../src/index.js";
import { type ArchiveReader, archiveNamespace } from "../../../src/threads/archive.js";
import { readFullHistory } from "../../../src/threads/full-history.js";
import { FunctionModel, shortSummariser } from "../../support/function-model.js";
import { humanOf, turnsOf } from "../../support/long-histories.js";
import { outline } from "../../support/plain-messages.js";
import { summarizeOnce } from "../../support/run-summarize.js";
import { inThread, user } from "../../support/thread.js";

const ID = "thread";

/** A store that counts its operations. */
class CountingStore extends InMemoryStore {
  batches: number[] = [];

  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    this.batches.push(operations.length);
    return super.batch(operations);
  }
}

/** A thread that was summarised into the archive this many times. */
async function archived(times: number) {
  const store = new CountingStore();
  let messages: BaseMessage[] = [];
  for (let time = 0; time < times; time += 1) {
    messages = reduceMessages(messages, turnsOf(12 * (time + 1), 60).slice(48 * time)).messages;
    ({ messages } = await summarizeOnce(messages, shortSummariser(), { store, coveredMessages: "archive" }));
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
  it.each([1, 2, 3, 5, 7, 16, 1000])(
    "has %i messages, and all pages are the whole conversation",
    async (limit) => {
      const { reader, messages } = await archived(4);
      const whole = await readFullHistory(reader, ID, { messages });
      expect(outline(await pages(reader, messages, limit))).toBe(outline(whole));
    },
  );

  it("does not read the messages before it", async () => {
    const { reader, messages, reads } = await archived(6);
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
    const { reader, messages, reads } = await archived(2);
    const before = await readFullHistory(reader, ID, { messages });
    const call = before.flatMap(callsOf)[3];
    const late = new ToolMessage({ id: "late", content: "late", tool_call_id: call?.id ?? "" });
    const more = reduceMessages(messages, [humanOf("next", 5), late]).messages;
    const whole = await readFullHistory(reader, ID, { messages: more });
    for (const limit of [1, 4, 6]) expect(outline(await pages(reader, more, limit))).toBe(outline(whole));
    expect(reads.length).toBeGreaterThan(0);
  });

  it("keeps the summary of a message that the archive has lost", async () => {
    const { store, reader, messages } = await archived(2);
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
    const { reader, messages } = await archived(1);
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
