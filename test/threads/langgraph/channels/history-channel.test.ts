import {
  Annotation,
  type BaseChannel,
  Command,
  DeltaChannel,
  DeltaValue,
  END,
  MemorySaver,
  MessagesValue,
  Overwrite,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { messagesSchema } from "../../../../src/history/reducer/messages-schema.js";
import { PairedMessagesDeltaValue, PairedMessagesValue } from "../../../../src/index.js";
import {
  FoldChannel,
  HistoryChannel,
  probeChannel,
  withHistoryChannel,
  withValueUntilNextStep,
} from "../../../../src/threads/langgraph/channels.js";
import { allOf } from "../../../support/async.js";
import {
  isKnownHistory,
  pairedMessagesDeltaReducer,
  UPDATES_BETWEEN_SNAPSHOTS,
} from "../../../support/internals.js";
import { ai, human, messagesIn, result } from "../../../support/make-messages.js";
import { outline } from "../../../support/plain-messages.js";
import { inThread, user } from "../../../support/thread.js";

const [calling] = messagesIn("a(c1,c2)");
const open = (): HistoryChannel => new HistoryChannel().fromCheckpoint([calling] as never);

describe("The channel of the history", () => {
  it("is LangGraph's delta channel, also as a copy", () => {
    expect(open().lc_graph_name).toBe("DeltaChannel");
    expect(open()).toBeInstanceOf(DeltaChannel);
    expect(outline(open().get())).toBe("a");
    expect(open().equals(new HistoryChannel())).toBe(true);
  });

  it.each<[title: string, writes: readonly string[], frequency: number]>([
    ["results of several tasks", ["t1:c1", "t2:c2"], UPDATES_BETWEEN_SNAPSHOTS],
    ["one other message", ["t1:c1", "t2:c2 note"], UPDATES_BETWEEN_SNAPSHOTS],
    ["other messages of several tasks", ["t1:c1 one", "t2:c2 two"], 1],
  ])("after %s the next checkpoint is whole only if their order matters", (_, writes, frequency) => {
    const channel = open();
    channel.update(writes.map(messagesIn));
    expect(channel.snapshotFrequency).toBe(frequency);
  });

  it("replaces the channel of a graph", () => {
    const channels: Record<string, BaseChannel> = {};
    expect(withHistoryChannel({ channels }).channels["messages"]).toBeInstanceOf(HistoryChannel);
  });
});

const concat = (left: unknown, right: unknown) => [left, right].flat();

/** A graph in which these writes happen in one step. */
function parallel(channel: unknown, writes: readonly unknown[]) {
  const graph = new StateGraph(Annotation.Root({ list: channel as never })) as unknown as {
    addNode(name: string, node: () => object): void;
    addEdge(from: string, to: string): void;
    compile(options: object): { invoke(input: object, config: object): Promise<unknown> };
  };
  for (const [index, write] of writes.entries()) {
    graph.addNode(`node${index}`, () => ({ list: write }));
    graph.addEdge(START, `node${index}`);
  }
  return graph.compile({ checkpointer: new MemorySaver() });
}

const writes = [["a"], new Overwrite(["b"]), ["c"], new Overwrite(["d"]), ["e"]];

describe("a channel that folds", () => {
  it("takes several replacements in one step, and what follows them", async () => {
    const graph = parallel(new FoldChannel(concat, () => ["start"]), writes);
    expect(await graph.invoke({ list: ["input"] }, inThread("1"))).toEqual({ list: ["d", "e"] });
    expect(await graph.invoke({ list: new Overwrite([]) }, inThread("1"))).toEqual({ list: ["d", "e"] });
  });

  it("is needed, because LangGraph's own one refuses them", async () => {
    const own = Annotation<unknown>({ reducer: concat, default: () => [] });
    await expect(parallel(own, writes).invoke({ list: [] }, inThread("1"))).rejects.toThrow("Overwrite");
  });

  it("has no value at first without a default, and then the first one", () => {
    const channel = new FoldChannel(concat).fromCheckpoint();
    expect(channel.isAvailable()).toBe(false);
    expect([channel.update([]), channel.update([["a"], ["b"]]), channel.get()]).toEqual([
      false,
      true,
      ["a", "b"],
    ]);
    expect(channel.fromCheckpoint(["c"]).get()).toEqual(["c"]);
  });
});

describe("The batch reducer of a delta channel", () => {
  it("takes writes that are one message or many", () => {
    const state = pairedMessagesDeltaReducer(
      [human("h")],
      [ai("a", "c"), [human("h2"), result("t", "c")], "hi"],
    );
    expect(outline(state.slice(0, 4))).toBe("h a t h2");
    expect(state).toHaveLength(5);
  });

  it("has the mark that makes LangGraph set ids on plain objects before it saves them", async () => {
    const idsWith = async (reducer: typeof pairedMessagesDeltaReducer) => {
      const saver = new MemorySaver();
      const field = new DeltaValue(
        messagesSchema.default(() => []),
        { reducer },
      );
      const graph = new StateGraph(new StateSchema({ messages: field }))
        .addNode("idle", () => ({}))
        .addEdge(START, "idle")
        .compile({ checkpointer: saver });
      const thread = { configurable: { thread_id: "1" } };
      await graph.invoke({ messages: [{ role: "user", content: "hi" }] as never }, thread);
      const ids: unknown[] = [];
      for await (const { pendingWrites = [] } of saver.list(thread))
        for (const [, channel, value] of pendingWrites)
          if (channel === "messages") ids.push(...[value].flat().map((message) => Object(message).id));
      return ids;
    };
    expect(await idsWith(pairedMessagesDeltaReducer)).toEqual([expect.any(String)]);
    const unmarked = (history: unknown, writes: readonly unknown[]) =>
      pairedMessagesDeltaReducer(history, writes);
    expect(await idsWith(unmarked)).toEqual([undefined]);
  });
});

describe("probeChannel", () => {
  it.each([
    ["PairedMessagesValue", PairedMessagesValue, true],
    ["PairedMessagesDeltaValue", PairedMessagesDeltaValue, true],
    ["LangGraph's own field", MessagesValue, false],
  ])("shows what the reducer of the channel makes of a write: %s", async (_name, field, isOurs) => {
    const probed: unknown[] = [];
    const graph = new StateGraph(new StateSchema({ messages: field as typeof PairedMessagesValue }))
      .addNode("probe", (_state, config) => {
        probed.push(probeChannel(config, "messages", []));
        return {};
      })
      .addEdge(START, "probe")
      .compile();
    const { messages } = await graph.invoke(user("hi"));
    expect(probed).toEqual([messages]);
    expect(isKnownHistory(probed[0] as never)).toBe(isOurs);
  });

  it("finds nothing outside a graph", () => {
    expect(probeChannel({}, "messages", [])).toBeUndefined();
  });
});

const state = z.object({ text: z.string(), response: z.unknown().optional() });

it("The value of the channel is there after the last superstep, and gone with new input.", async () => {
  const graph = withValueUntilNextStep(new StateGraph({ state }), "response")
    .addNode(
      "model",
      async ({ text }) =>
        text === "second"
          ? new Command({ update: { text: "done", response: { at: 1 } }, goto: END })
          : new Command({ update: { text: "second" }, goto: "model" }),
      { ends: ["model", END] },
    )
    .addEdge(START, "model")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  const run = () => allOf(graph.stream({ text: "first" }, { ...config, streamMode: "values" }));
  const ends = [{ text: "first" }, { text: "second" }, { text: "done", response: { at: 1 } }];
  expect(await run()).toEqual(ends);
  expect((await graph.getState(config)).values).toEqual(ends[2]);
  expect(await run()).toEqual(ends);
  await graph.updateState(config, { text: "edited" });
  expect((await graph.getState(config)).values).toEqual({ text: "edited" });
});
