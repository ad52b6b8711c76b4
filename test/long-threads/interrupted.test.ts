/** What else writes while a summary is made, and what is left when the process dies in between. */

import type { BaseMessage } from "@langchain/core/messages";
import {
  type Checkpoint,
  END,
  InMemoryStore,
  MemorySaver,
  messagesStateReducer,
  type Operation,
  type OperationResults,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { coverageOf } from "../../src/history/summary.js";
import { pairedMessagesReducer, readFullHistory } from "../../src/index.js";
import { archiveNamespace } from "../../src/threads/archive.js";
import { createLookGraph } from "../support/create-look-graph.js";
import { talkOf } from "../support/long-histories.js";
import { FunctionModel } from "../support/models.js";
import { outline } from "../support/plain-messages.js";
import { inThread, messagesOf, user } from "../support/thread.js";

type Kind = "keep" | "archive";

const thread = inThread("t");
const said = talkOf(20);
const small = { maxTokensBeforeSummary: 500, messagesToKeep: 2 };
const everything = said.map(({ id }) => id).join(" ");

/** A state whose messages have this reducer. */
const stateWith = (fn: typeof pairedMessagesReducer) =>
  z.object({
    messages: withLangGraph(z.custom<BaseMessage[]>(), {
      reducer: { fn, schema: z.any() },
      default: () => [],
    }),
  });

describe.each<Kind>(["keep", "archive"])("While the summariser is running (%s)", (coveredMessages) => {
  it("a message that a parallel branch appends survives", async () => {
    const store = new InMemoryStore();
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    let answer = (_text: string) => {};
    const summaryModel = new FunctionModel(
      () =>
        new Promise<string>((resolve) => {
          answer = resolve;
          ask();
        }),
    );
    const { graph: agent } = createLookGraph(() => "fine", { ...small, coveredMessages, summaryModel });
    const parent = new StateGraph(stateWith(pairedMessagesReducer))
      .addNode("agent", agent as never)
      .addNode("branch", async () => {
        await asked;
        answer("gist");
        return { messages: [{ id: "aside", role: "user", content: "by the way" }] as never };
      })
      .addEdge(START, "agent")
      .addEdge(START, "branch")
      .addEdge("agent", END)
      .addEdge("branch", END)
      .compile({ checkpointer: new MemorySaver(), store });
    const input = { messages: [...said, { id: "q", role: "user", content: "hello" }] };
    const result = messagesOf(await parent.invoke(input as never, thread));
    expect(outline(result)).toContain("aside");
    expect(result.filter((message) => coverageOf(message) !== undefined)).toHaveLength(1);
    const history = outline(await readFullHistory(store, "t", { messages: result }));
    expect(history).toContain(everything);
    expect(history.split(" ")).toHaveLength(23);
  });
});

/** What is left of a message that `updateState` writes while a node of the run is at work. */
async function writeAside(makeRun: (writeAside: () => Promise<unknown>) => AnyGraph): Promise<string> {
  const graph: AnyGraph = makeRun(() =>
    graph.updateState(thread, { messages: [{ id: "aside", role: "user", content: "by the way" }] }),
  );
  await graph.updateState(thread, { messages: said });
  await graph.invoke(user("hello", "q"), { ...thread, durability: "sync" });
  const { values } = await graph.getState(thread);
  return outline(messagesOf(values));
}

interface AnyGraph {
  invoke(input: object, config: object): Promise<unknown>;
  updateState(config: object, values: object): Promise<unknown>;
  getState(config: object): Promise<{ values: unknown }>;
}

it("A message that updateState writes meanwhile survives wherever LangGraph itself keeps it", async () => {
  const kept = await writeAside((write) => {
    const summaryModel = new FunctionModel(async () => {
      await write();
      return "gist";
    });
    const options = { ...small, checkpointer: new MemorySaver(), summaryModel };
    return createLookGraph(() => "fine", options).graph as AnyGraph;
  });
  const keptByLangGraph = await writeAside(
    (write) =>
      new StateGraph(stateWith(messagesStateReducer as never))
        .addNode("slow", async () => {
          await write();
          return { messages: [{ id: "answer", role: "assistant", content: "fine" }] as never };
        })
        .addEdge(START, "slow")
        .compile({ checkpointer: new MemorySaver() }) as unknown as AnyGraph,
  );
  expect(kept.includes("aside")).toBe(keptByLangGraph.includes("aside"));
  for (const { id } of said) expect(kept.split(" ")).toContain(id);
});

/** A saver that loses power this many times when it saves the state with the summary. */
class DyingSaver extends MemorySaver {
  deaths = 0;

  override async put(...args: Parameters<MemorySaver["put"]>) {
    const checkpoint: Checkpoint = args[1];
    const isSummary = messagesOf(checkpoint.channel_values).some(
      (message) => coverageOf(message) !== undefined,
    );
    if (isSummary && this.deaths > 0) {
      this.deaths -= 1;
      throw new Error("power failure");
    }
    return super.put(...args);
  }
}

/** A store that loses power after this many writes. */
class DyingStore extends InMemoryStore {
  writes = Number.POSITIVE_INFINITY;

  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const isWriting = operations.some((operation) => "value" in operation);
    if (!isWriting || operations.length <= this.writes) return super.batch(operations);
    await super.batch(operations.slice(0, this.writes));
    throw new Error("power failure");
  }
}

async function crashing() {
  const store = new DyingStore();
  const checkpointer = new DyingSaver();
  const { graph, model, summariser } = createLookGraph(({ index }) => `fine ${index}`, {
    ...small,
    checkpointer,
    store,
    coveredMessages: "archive",
    // The saver above reads the messages in checkpoints.
    messagesChannel: "full",
  });
  await graph.updateState(thread, { messages: said });
  const state = async () => messagesOf((await graph.getState(thread)).values);
  const whole = async () => outline(await readFullHistory(store, "t", { messages: await state() }));
  return { graph, model, summariser, store, checkpointer, state, whole };
}

const sync = { ...thread, durability: "sync" } as never;

describe("A process that dies between the archive and the state", () => {
  it.each([
    ["the same run goes on", null, 22],
    ["a new message comes", user("again", "q2"), 23],
  ])("loses nothing and doubles nothing: %s", async (_how, next, length) => {
    const { graph, store, checkpointer, whole, model } = await crashing();
    checkpointer.deaths = 1;
    await expect(graph.invoke(user("hello", "q1"), sync)).rejects.toThrow("power failure");
    expect(await store.search(archiveNamespace("t"), { limit: 100 })).not.toHaveLength(0);
    expect(await whole()).toBe(`${everything} q1`);
    await graph.invoke(next as never, sync);
    const history = await whole();
    expect(history.startsWith(`${everything} q1`)).toBe(true);
    expect(history.split(" ")).toHaveLength(length);
    expect(new Set(history.split(" ")).size).toBe(length);
    expect(model.refused).toEqual([]);
  });

  it("dies again and again, and loses nothing", async () => {
    const { graph, checkpointer, whole } = await crashing();
    checkpointer.deaths = 3;
    for (let time = 0; time < 3; time += 1) {
      await expect(graph.invoke(user("hello", `q${time}`), sync)).rejects.toThrow("power failure");
    }
    await graph.invoke(user("hello", "q3"), sync);
    expect(await whole()).toContain(`${everything} q0 q1 q2 q3`);
  });
});

describe("A store that fails in the middle of the archive", () => {
  it.each([0, 1, 7, 17])(
    "after %i writes leaves the state as it was, and the run goes on",
    async (writes) => {
      const { graph, store, state, whole } = await crashing();
      store.writes = writes;
      await graph.invoke(user("hello", "q1"), sync);
      expect(await state()).toHaveLength(22);
      store.writes = Number.POSITIVE_INFINITY;
      await graph.invoke(user("again", "q2"), sync);
      expect((await state()).length).toBeLessThan(10);
      const history = (await whole()).split(" ");
      expect(history.slice(0, 21).join(" ")).toBe(`${everything} q1`);
      expect(history).toHaveLength(24);
    },
  );
});
