import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { describe, expect, it } from "vitest";
import { type MissingMessages, readFullHistory, restoreCovered } from "../../src/index.js";
import { nested } from "../support/foreign-values.js";
import {
  archiveOf,
  callsOf,
  coverageOf,
  createSummary,
  reduceMessages,
  visibleHistory,
} from "../support/internals.js";
import { humanOf, turnsOf } from "../support/long-histories.js";
import {
  ai,
  human,
  messagesIn,
  placeholder,
  removal,
  result,
  summary,
  system,
} from "../support/make-messages.js";
import { shortSummariser } from "../support/models.js";
import { outline } from "../support/plain-messages.js";
import { summarizeOnce } from "../support/run-summarize.js";
import { SavedLists } from "../support/saved-lists.js";
import { stateViolations } from "../support/strict-check.js";

const history = turnsOf(12, 60);
/** The turns after those, and after others. */
const more = (passes = 1) => turnsOf(12 * (passes + 1), 60).slice(48 * passes);

/** One summary that archives what it covers. */
async function archive(messages: readonly BaseMessage[], lists: SavedLists = new SavedLists()) {
  const pass = await summarizeOnce(messages, shortSummariser(), { lists, coveredMessages: "archive" });
  return { lists, messages: pass.messages };
}
const whole = async (lists: SavedLists, messages: readonly BaseMessage[]) =>
  outline(await readFullHistory(lists.show(messages), lists.config));
const reduce = (messages: readonly BaseMessage[], update: readonly unknown[]) =>
  reduceMessages(messages, update).messages;

it("A system message stays in the thread, even if a summary that is archived names it", async () => {
  const named = createSummary("Before.", { kind: "keep", messages: ["rules"] });
  const thread = [new SystemMessage({ id: "rules", content: "Be brief." }), named, ...history];
  const { lists, messages } = await archive(thread);
  expect(visibleHistory(messages).system.map(({ id }) => id)).toEqual(["rules"]);
  expect(await whole(lists, messages)).toBe(`rules ${outline(history)}`);
});

describe("A result that comes late for an archived call", () => {
  const open = [human("hx"), ai("ax", "c"), placeholder("p", "c"), ...history];
  const answered = [human("hx"), ai("ax", "c"), result("t1", "c"), ...history];

  it("is archived with the next summary, and can still be read back", async () => {
    const { lists, messages: first } = await archive(open);
    const { messages } = await archive(reduce(first, [result("late", "c"), ...more()]), lists);
    expect(outline(messages)).not.toContain("late");
    expect(await whole(lists, messages)).toBe(
      outline([human("hx"), ai("ax", "c"), result("late", "c"), ...history, ...more()]),
    );
  });

  it("is kept even if two summaries were made since", async () => {
    const { lists, messages: first } = await archive(open);
    const second = await archive(reduce(first, more()), lists);
    const { messages, repairs } = reduceMessages(second.messages, [result("late", "c")]);
    expect(repairs).toEqual([]);
    expect(await whole(lists, messages)).toContain("hx ax late");
  });

  it("belongs to the nearest call of its id, as rule 6 says, if the archived call has a result", async () => {
    const { lists, messages: first } = await archive(answered);
    const messages = reduce(first, messagesIn("hy ay(c) t2:c t3:c"));
    expect(outline(messages)).toContain("hy ay t3");
    expect(await whole(lists, messages)).toContain("hx ax t1");
  });

  it("stays with each later summary if it is a placeholder of a call that has a result", async () => {
    const { lists, messages: first } = await archive(answered);
    let messages = reduce(first, [placeholder("p", "c")]);
    for (const turn of [1, 2]) {
      ({ messages } = await archive(reduce(messages, more(turn)), lists));
      expect(outline(messages)).toContain(" p ");
    }
    expect(await whole(lists, messages)).toContain("hx ax t1");
  });
});

describe("A message that is read back", () => {
  it("has all its fields", async () => {
    const content = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }];
    const rich = new HumanMessage({ id: "rich", content, name: "Ada", additional_kwargs: { own: 1 } });
    const fields = { id: "t", tool_call_id: "c", content: "failed", artifact: { rows: [1] } };
    const bad = new ToolMessage({ ...fields, status: "error" });
    const { lists, messages } = await archive([rich, ai("a", "c"), bad, ...history, humanOf("request")]);
    const whole = await readFullHistory(lists.show(messages), lists.config);
    expect(whole[0]).toMatchObject({ content, name: "Ada", additional_kwargs: { own: 1 } });
    expect(whole[2]).toMatchObject({ status: "error", artifact: { rows: [1] }, tool_call_id: "c" });
  });

  it("stands beside a later one with its id, which keeps the id", async () => {
    const { lists, messages: first } = await archive([human("h"), ai("same"), ...history]);
    const again = new AIMessage({ id: "same", content: "another response" });
    let messages = reduce(first, [humanOf("next"), again]);
    const read = async () => (await readFullHistory(lists.show(messages), lists.config)).slice(1);
    const found = await read();
    expect(found.map(({ text }) => text)).toEqual([
      ai("same").text,
      ...history.map(({ text }) => text),
      humanOf("next").text,
      "another response",
    ]);
    expect(found.at(-1)?.id).toBe("same");
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    ({ messages } = await archive(reduce(messages, more()), lists));
    expect((await read()).slice(0, found.length).map(({ text }) => text)).toEqual(
      found.map(({ text }) => text),
    );
  });

  it("is the one of the checkpoint, although another branch has archived another one with its id", async () => {
    const lists = new SavedLists();
    const branches = ["left", "right"].map((name) => [
      new HumanMessage({ id: "m", content: name }),
      ...history,
    ]);
    const made = [];
    for (const branch of branches) made.push((await archive(branch, lists)).messages);
    for (const [index, messages] of made.entries()) {
      const [first] = await readFullHistory(lists.show(messages), lists.config);
      expect(first?.text).toBe(branches[index]?.[0]?.text);
    }
  });

  it("stands in its place, although it stayed in the state", async () => {
    const lists = new SavedLists();
    const thread = [human("h1"), system("rules"), ai("a1"), human("request"), ai("a2"), human("h2")];
    const checkpoint = await lists.save(thread);
    const messages = reduce(thread, [
      summary("s", { kind: "archive", checkpoint, messages: ["h1", "a1", "a2"], calls: [] }),
    ]);
    expect(outline(messages)).toBe("rules request s h2");
    expect(await whole(lists, messages)).toBe("h1 rules a1 request a2 h2");
    const edited = reduce(messages, [new HumanMessage({ id: "request", content: "edited" })]);
    const [, , , request] = await readFullHistory(lists.show(edited), lists.config);
    expect(request?.text).toBe("edited");
    expect(await whole(lists, reduce(messages, [removal("request")]))).toBe("h1 rules a1 a2 h2");
  });
});

// What is read of a thread whose checkpoints are gone or changed, and of summaries that name anything.

async function archivedOnce() {
  const { lists, messages } = await archive(history);
  const [coverage] = messages.flatMap((message) => archiveOf(message) ?? []);
  if (coverage === undefined) throw new Error("Expected a summary.");
  return { lists, messages, checkpoint: coverage.checkpoint, covered: coverage.messages };
}

/** @param change What the checkpoints give in the place of their messages. */
async function read(
  lists: SavedLists,
  messages: readonly BaseMessage[],
  change: (messages: unknown) => unknown = (same) => same,
) {
  const missing: MissingMessages[] = [];
  const from = {
    getState: async (config: RunnableConfig) => {
      const { values } = await lists.show(messages).getState(config);
      return {
        values: config.configurable?.["checkpoint_id"] ? { messages: change(values.messages) } : values,
      };
    },
  };
  const onMissing = (one: MissingMessages) => void missing.push(one);
  const whole = await readFullHistory(from, lists.config, { onMissing });
  const update = await restoreCovered(from, lists.config);
  return { whole, missing, update };
}

const isSummary = (message: BaseMessage) => coverageOf(message) !== undefined;
const listOf = (messages: unknown) => messages as BaseMessage[];

describe("Of a checkpoint that", () => {
  it.each<[title: string, change: (messages: unknown) => unknown, reason: string]>([
    ["was deleted", () => undefined, "missing"],
    ["has no messages", () => [], "missing"],
    ["has others", () => more(), "missing"],
    [
      "cannot be read",
      () => {
        throw new Error("down");
      },
      "unreadable",
    ],
  ])("%s, the summary stays, and is told", async (_title, change, reason) => {
    const { lists, messages, covered, checkpoint } = await archivedOnce();
    const { whole, missing, update } = await read(lists, messages, change);
    expect(missing).toEqual([
      { summary: messages.find(isSummary)?.id, checkpoint, messages: covered, reason },
    ]);
    expect(outline(whole)).toBe(outline(messages));
    expect(coverageOf(whole[0] as BaseMessage)?.messages).toEqual(covered);
    // The summary still leads to the checkpoint, for the day when it is found again.
    expect(outline((await read(lists, reduce(messages, update))).whole)).toBe(outline(history));
  });

  it("lacks a message, the summary stands before the others, and names that one", async () => {
    const { lists, messages, covered } = await archivedOnce();
    const id = covered.find((one) =>
      history.some((message) => message.id === one && message.type === "human"),
    );
    const without = (given: unknown) => listOf(given).filter((message) => message.id !== id);
    const { whole, missing, update } = await read(lists, messages, without);
    expect(missing).toMatchObject([{ messages: [id], reason: "missing" }]);
    expect(whole.filter(isSummary).map((message) => coverageOf(message)?.messages)).toEqual([[id]]);
    const others = outline(history.filter((message) => message.id !== id));
    expect(outline(whole.filter((message) => !isSummary(message)))).toBe(others);
    const restored = reduce(messages, update);
    expect(stateViolations(restored)).toEqual([]);
    expect(outline(restored.filter((message) => !isSummary(message)))).toBe(others);
    const again = await read(lists, restored);
    expect(again.missing).toEqual([]);
    expect(again.whole.map((message) => message.id).toSorted()).toEqual(
      history.map((one) => one.id).toSorted(),
    );
  });

  it("lacks the message with a call, the result stands after the summary", async () => {
    const { lists, messages } = await archivedOnce();
    const without = (given: unknown) => listOf(given).filter((message) => message.id !== "s0");
    const { whole, missing } = await read(lists, messages, without);
    // The list of a checkpoint is read as a history, in which no result stands alone.
    expect(missing[0]?.messages).toEqual(["s0", "s0-result-0"]);
    expect(stateViolations(whole)).toEqual([]);
  });

  it("has malformed messages, they are read in a sound form", async () => {
    const { lists, messages, covered } = await archivedOnce();
    const malformed = {
      type: "ai",
      content: "x",
      id: covered[0],
      tool_calls: {},
      additional_kwargs: { deep: nested(10_000) },
    };
    const { whole, missing } = await read(lists, messages, (given) => [malformed, ...listOf(given).slice(1)]);
    expect(missing).toEqual([]);
    expect(whole.map((message) => message.id)).toEqual(history.map((message) => message.id));
  });
});

describe("Summaries that name anything end no reading:", () => {
  it.each<[title: string, line: string, saved: string]>([
    ["itself", "h1 s[s,h1|] h2", "h1 s[s,h1|] h2"],
    ["one another", "h1 s[r,h1|] r[s,h2|] h2", "h1 s[r,h1|] r[s,h2|] h2"],
    ["messages that never were", "h1 s[x,y|] h2", "h1 h2"],
    ["the same message twice", "h1 s[h1,h1|] h2", "h1 h2"],
    ["later messages", "h1 s[h2|] h2", "h1 h2"],
  ])("%s", async (_what, line, saved) => {
    const lists = new SavedLists();
    const checkpoint = await lists.save([]);
    const named = (given: string) =>
      messagesIn(given).map((message) => {
        const coverage = archiveOf(message);
        return coverage ? createSummary(`${message.id}`, { ...coverage, checkpoint }) : message;
      });
    const messages = named(line);
    const { whole, update } = await read(lists, messages, () => named(saved));
    const texts = (list: readonly BaseMessage[]) =>
      list.filter((message) => !isSummary(message)).map(({ text }) => text);
    const said = expect.arrayContaining([human("h1").text, human("h2").text]);
    expect(texts(whole)).toEqual(said);
    expect(texts(reduce(messages, update))).toEqual(said);
  });

  it("ten thousand of them, each inside the next", async () => {
    const id = (index: number) => (index === 0 ? "h0" : `s${index}`);
    const at = (index: number) =>
      index === 0
        ? human("h0")
        : summary(id(index), {
            kind: "archive",
            checkpoint: `c${index}`,
            messages: [id(index - 1)],
            calls: [],
          });
    const getState = async ({ configurable = {} }: RunnableConfig) => {
      const { checkpoint_id } = configurable;
      const messages = checkpoint_id ? [at(Number(checkpoint_id.slice(1)) - 1)] : [at(10_000), human("now")];
      return { values: { messages } };
    };
    const whole = await readFullHistory({ getState }, new SavedLists().config);
    expect(whole.map((message) => message.id)).toEqual(["h0", "now"]);
  });
});

/** A thread that was summarised this many times. */
async function archivedTimes(times: number) {
  const lists = new SavedLists();
  let messages: BaseMessage[] = [];
  for (let time = 0; time < times; time += 1) {
    ({ messages } = await archive(reduce(messages, more(time)), lists));
  }
  return { lists: lists.show(messages), messages };
}

async function pages(lists: SavedLists, limit: number) {
  const found: BaseMessage[] = [];
  for (let before: string | undefined; ; before = found[0]?.id) {
    const page = await readFullHistory(lists, lists.config, { limit, before });
    found.unshift(...page);
    if (page.length < limit) return found;
  }
}

describe("A page of a conversation", () => {
  it("has any number of messages, and all pages are the whole conversation", async () => {
    const { lists } = await archivedTimes(4);
    const whole = await readFullHistory(lists, lists.config);
    for (const limit of [1, 2, 3, 5, 7, 16, 1000])
      expect(outline(await pages(lists, limit))).toBe(outline(whole));
  });

  it("does not read the checkpoints before it", async () => {
    const { lists, messages } = await archivedTimes(6);
    const whole = await readFullHistory(lists, lists.config);
    expect(whole.length).toBeGreaterThan(200);
    expect(lists.reads).toHaveLength(6);
    const readsOf = async (limit: number, before?: string) => {
      lists.reads.length = 0;
      await readFullHistory(lists, lists.config, { limit, before });
      return lists.reads.length;
    };
    expect(await readsOf(messages.length - 1)).toBe(0);
    expect(await readsOf(20)).toBe(1);
    expect(await readsOf(20, whole.at(-60)?.id)).toBe(2);
    expect(await readsOf(3, whole[4]?.id)).toBe(6);
  });

  it("has a late result with its call, and not where it came", async () => {
    const { lists, messages } = await archivedTimes(2);
    const before = await readFullHistory(lists, lists.config);
    const call = before.flatMap(callsOf)[3];
    const late = new ToolMessage({ id: "late", content: "late", tool_call_id: call?.id ?? "" });
    lists.show(reduce(messages, [humanOf("next", 5), late]));
    const whole = await readFullHistory(lists, lists.config);
    for (const limit of [1, 4, 6]) expect(outline(await pages(lists, limit))).toBe(outline(whole));
  });

  it.each([
    [{ limit: 0 }, "limit"],
    [{ before: 1 }, "before"],
    [{ limit: 3, before: "nobody" }, "before"],
    [{ limt: 3 }, "limt"],
  ])("refuses %j by name", async (options, name) => {
    const { lists } = await archivedTimes(1);
    await expect(readFullHistory(lists, lists.config, options as never)).rejects.toMatchObject({
      message: expect.stringContaining(`\`${name}\``),
    });
  });
});
