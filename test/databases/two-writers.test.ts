/** Two writers of one thread, over each checkpointer: branches, and a write that comes late. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph, type ThreadConflictError } from "../../src/index.js";
import { deferred } from "../support/deferred.js";
import { RunSaver, replaceMethods } from "../support/internals.js";
import { FunctionModel } from "../support/models.js";
import { FirstValueSaver, SAVERS, type SaverKind } from "../support/savers.js";
import { callIdsOf } from "../support/strict-check.js";
import { inThread, messagesOf, pairedScript, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const config = inThread("1");

async function openThread({ open }: SaverKind) {
  const { connect } = await open();
  const model = new FunctionModel(({ text }) => `re ${text}`);
  const agent = () => createAgentGraph({ model, checkpointer: connect() });
  const graph = agent();
  const send = async (text: string, at = config) => (await graph.invoke(user(text), at)).messages;
  const lines = async (at = config) => messagesOf((await graph.getState(at)).values).map(({ text }) => text);
  /** The config of the checkpoint after the response to a message. */
  const stateAfter = async (text: string) => {
    for await (const { values, next, config: at } of graph.getStateHistory(config)) {
      if (next.length === 0 && messagesOf(values).at(-1)?.text === `re ${text}`) return at as typeof config;
    }
    throw new Error(`No checkpoint after ${text}`);
  };
  return { agent, graph, model, connect, send, lines, stateAfter };
}

describe.each(SAVERS.filter(({ isThere }) => isThere))("With $title, a thread", (kind) => {
  it("stores a run from an older checkpoint as a branch, and keeps the other branch", async () => {
    const { send, lines, stateAfter } = await openThread(kind);
    await send("one");
    const one = await stateAfter("one");
    await send("two");
    const two = await stateAfter("two");
    await send("fork", one);
    expect(await lines()).toEqual(["one", "re one", "fork", "re fork"]);
    await send("next");
    expect(await lines()).toEqual(["one", "re one", "fork", "re fork", "next", "re next"]);
    expect(await lines(two)).toEqual(["one", "re one", "two", "re two"]);
    expect(await lines(one)).toEqual(["one", "re one"]);
  });

  it("stores an edit of an older checkpoint as a branch", async () => {
    const { graph, send, lines, stateAfter } = await openThread(kind);
    await send("one");
    const one = await stateAfter("one");
    await send("two");
    const edited = await graph.updateState(one, user("edited"), "model");
    expect(await lines()).toEqual(["one", "re one", "edited"]);
    await graph.updateState(one, user("edited again"), "model");
    expect(await lines()).toEqual(["one", "re one", "edited again"]);
    expect(await lines(edited as typeof config)).toEqual(["one", "re one", "edited"]);
    await send("next");
    expect((await lines()).slice(0, 4)).toEqual(["one", "re one", "edited again", "next"]);
  });

  it("repeats a run from an older checkpoint", async () => {
    const { graph, send, lines, stateAfter } = await openThread(kind);
    await send("one");
    await send("two");
    const one = await stateAfter("one");
    await send("again", one);
    await graph.updateState(await stateAfter("two"), user("both"), "model");
    expect(await lines()).toEqual(["one", "re one", "two", "re two", "both"]);
  });

  it("goes on from checkpoints with plain version numbers", async () => {
    const { connect, send, lines } = await openThread(kind);
    const plain = new StateGraph(MessagesAnnotation)
      .addNode("model", ({ messages }) => ({
        messages: [{ role: "ai", content: `re ${messages.at(-1)?.text}` }],
      }))
      .addEdge(START, "model")
      .compile({ checkpointer: connect() });
    await plain.invoke(user("one"), config);
    await plain.invoke(user("two"), config);
    await send("three");
    await plain.invoke(user("four"), config);
    await send("five");
    const texts = ["one", "two", "three", "four", "five"];
    expect(await lines()).toEqual(texts.flatMap((text) => [text, `re ${text}`]));
  });

  it("shows or refuses every message of two writers", async () => {
    const { agent, graph, lines } = await openThread(kind);
    const other = agent();
    const outcomes = new Map<string, "kept" | "refused">();
    const write = async (name: string, writer: typeof graph) => {
      for (let turn = 0; turn < 15; turn += 1) {
        const text = `${name}${turn}`;
        const outcome = await writer.invoke(user(text), config).then(
          () => "kept" as const,
          ({ code }: ThreadConflictError) => {
            expect(code).toBe("THREAD_MOVED");
            return "refused" as const;
          },
        );
        outcomes.set(text, outcome);
      }
    };
    await Promise.all([write("a", graph), write("b", other)]);
    const stored = await lines();
    const lost = [...outcomes].filter(([text, outcome]) => outcome === "kept" && !stored.includes(text));
    expect(lost).toEqual([]);
  });
});

it("A saver that keeps the first value of each version mixes up two branches without unique versions", async () => {
  const saver = new FirstValueSaver();
  const graphWith = (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(MessagesAnnotation)
      .addNode("nothing", () => ({}))
      .addEdge(START, "nothing")
      .compile({ checkpointer });
  await graphWith(saver).invoke(user("base"), config);
  const { config: base } = await graphWith(saver).getState(config);
  const branch = async (text: string, checkpointer: BaseCheckpointSaver) => {
    const graph = graphWith(checkpointer);
    await graph.invoke(user(text), base);
    return messagesOf((await graph.getState(config)).values).map((message) => message.text);
  };
  expect(await branch("left", saver)).toEqual(["base", "left"]);
  expect(await branch("right", saver)).toEqual(["base", "left"]);
  expect(await branch("right", new RunSaver(saver, { signal: undefined }).checkpointer)).toEqual([
    "base",
    "right",
  ]);
});

type Put = BaseCheckpointSaver["put"];

const never = () => new Promise<never>(() => {});

/** A graph in a process of its own. Its model calls two tools, with ids that begin with the name of the process. */
function createProcess(name: string, saver: BaseCheckpointSaver, methods: Partial<BaseCheckpointSaver> = {}) {
  const { fast } = createProbe();
  const model = new FunctionModel(({ messages }) => {
    if (messages.at(-1)?.type === "tool") return "done";
    const tool_calls = [0, 1].map((index) => ({ id: `${name}_${index}`, name: "fast", args: {} }));
    return new AIMessage({ content: "", tool_calls });
  });
  // Views of one `MemorySaver` wait for one another, as they share its storage. Processes do not.
  const checkpointer = replaceMethods(saver, {
    ...methods,
    storage: undefined,
  } as Partial<BaseCheckpointSaver>);
  // The test reads the messages in checkpoints. With a delta channel, a checkpoint is saved after the writes it needs.
  return createAgentGraph({ model, tools: [fast], checkpointer, messagesChannel: "full" });
}

const hasCalls = ({ channel_values }: Parameters<Put>[1]) => {
  const messages = channel_values["messages"] as BaseMessage[] | undefined;
  return messages?.at(-1)?.type === "ai" && callIdsOf(messages.at(-1) as AIMessage).length > 0;
};

const writesCalls = (writes: readonly (readonly unknown[])[]) =>
  writes.some(([, value]) => JSON.stringify(value)?.includes('"tool_calls":[{'));

/**
 * A database can finish a write of a process after the process was killed, when the next process has read the thread
 * already. Both then have a checkpoint with the same number, but with different calls. With plain version numbers,
 * `PostgresSaver` shows the calls of the first beside the results of the second, and a run ends with calls that have
 * no result.
 */
it.each(SAVERS.filter(({ isThere }) => isThere))(
  "With $title, a write of a killed process that arrives late leaves no call without a result",
  async ({ open }) => {
    const saver = (await open()).connect();
    let finishLate: () => Promise<unknown> = never;
    const death = deferred();
    const killed = createProcess("a", saver, {
      put: (...given) => {
        if (!hasCalls(given[1])) return saver.put(...given);
        finishLate = () => saver.put(...given);
        death.resolve();
        return never();
      },
      putWrites: (...given) => (writesCalls(given[1]) ? never() : saver.putWrites(...given)),
    });
    // In this process, nobody hears of what the killed ones wait for.
    void killed.invoke(user("go"), { ...config, durability: "sync" }).catch(() => {});
    await death.promise;

    let written = 0;
    const bothWritten = deferred();
    const second = createProcess("b", saver, {
      put: async (...given) => {
        if (!hasCalls(given[1])) return never();
        await finishLate();
        return saver.put(...given);
      },
      putWrites: async (...given) => {
        await saver.putWrites(...given);
        if (given[1].some(([, value]) => JSON.stringify(value)?.includes("fast done"))) written += 1;
        if (written === 2) bothWritten.resolve();
      },
    });
    void second.invoke(null, { ...config, durability: "sync" }).catch(() => {});
    await bothWritten.promise;

    const third = createProcess("c", saver);
    const lines = ["human: go", "ai> fast fast", "tool: fast done -", "tool: fast done -", "ai: done"];
    expect(pairedScript(await third.invoke(null, config))).toEqual(lines);
  },
);
