/** What else writes while a summary is made, and what is left when the process dies in between. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import {
  type Checkpoint,
  END,
  MemorySaver,
  messagesStateReducer,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { pairedMessagesReducer, readFullHistory } from "../../src/index.js";
import { createLookGraph } from "../support/create-look-graph.js";
import { coverageOf } from "../support/internals.js";
import { talkOf, textOf } from "../support/long-histories.js";
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
      .compile({ checkpointer: new MemorySaver() });
    const input = { messages: [...said, { id: "q", role: "user", content: "hello" }] };
    const result = messagesOf(await parent.invoke(input as never, thread));
    expect(outline(result)).toContain("aside");
    expect(result.filter((message) => coverageOf(message) !== undefined)).toHaveLength(1);
    const history = outline(await readFullHistory(parent, thread));
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
  /** What becomes of the messages of a checkpoint that is read by its id. */
  damage = (messages: BaseMessage[]) => messages;

  override async getTuple(config: Parameters<MemorySaver["getTuple"]>[0]) {
    const tuple = await super.getTuple(config);
    if (tuple !== undefined && config.configurable?.["checkpoint_id"] !== undefined) {
      const { channel_values } = tuple.checkpoint;
      channel_values["messages"] = this.damage(messagesOf(channel_values));
    }
    return tuple;
  }

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

async function crashing() {
  const checkpointer = new DyingSaver();
  const { graph, model, summariser } = createLookGraph(({ index }) => `fine ${index}`, {
    ...small,
    checkpointer,
    coveredMessages: "archive",
    // The saver above reads the messages in checkpoints.
    messagesChannel: "full",
  });
  await graph.updateState(thread, { messages: said });
  const state = async () => messagesOf((await graph.getState(thread)).values);
  const whole = async () => outline(await readFullHistory(graph, thread));
  return { graph, model, summariser, checkpointer, state, whole };
}

const sync = { ...thread, durability: "sync" } as never;

describe("A process that dies when it saves the state with a summary", () => {
  it.each([
    ["the same run goes on", null, 22],
    ["a new message comes", user("again", "q2"), 23],
  ])("loses nothing and doubles nothing: %s", async (_how, next, length) => {
    const { graph, checkpointer, whole, model } = await crashing();
    checkpointer.deaths = 1;
    await expect(graph.invoke(user("hello", "q1"), sync)).rejects.toThrow("power failure");
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

describe("A checkpointer that does not give back what it has saved", () => {
  const other = new HumanMessage({ id: said[0]?.id ?? "", content: "another one" });
  it.each<[title: string, damage: DyingSaver["damage"]]>([
    [
      "fails",
      () => {
        throw new Error("down");
      },
    ],
    ["has no messages", () => []],
    ["lacks one", (messages) => messages.slice(1)],
    ["has another one", (messages) => [other, ...messages.slice(1)]],
  ])("and %s leaves what a summary covers in the state, for a later one", async (_what, damage) => {
    const { graph, checkpointer, state, whole } = await crashing();
    const kinds = async () => (await state()).flatMap((message) => coverageOf(message)?.kind ?? []);
    checkpointer.damage = damage;
    await graph.invoke(user("hello", "q1"), sync);
    expect(await kinds()).toEqual(["keep"]);
    expect(await state()).toHaveLength(23);
    checkpointer.damage = (messages) => messages;
    await graph.invoke(user(textOf(600), "q2"), sync);
    expect(await kinds()).toEqual(["archive"]);
    expect((await state()).length).toBeLessThan(10);
    const history = (await whole()).split(" ");
    expect(history.slice(0, 21).join(" ")).toBe(`${everything} q1`);
    expect(history).toHaveLength(24);
  });
});
