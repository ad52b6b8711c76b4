/**
 * A run is cancelled, and its client then edits, removes or repeats messages. What was shown of the response stays with
 * the question that it answered, or goes with it. The model is asked the same words as in a plain `createAgent`.
 */

import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { MemorySaver, REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware, tetherState } from "../../../src/langchain.js";
import { eachOf, turns } from "../../support/async.js";
import { type Halt, HaltingModel, type Piece } from "../../support/halting-model.js";
import { openAgentThread, openThread } from "../../support/open-thread.js";
import { rowsOf } from "../../support/test-tools.js";
import { messagesOf } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

type Durability = "async" | "sync" | "exit";
type Channel = "full" | "delta";

interface Setup {
  readonly durability: Durability;
  readonly channel?: Channel;
}

interface Thread {
  /** One run. It does not reject if the run fails. */
  readonly run: (messages: readonly BaseMessage[], signal?: AbortSignal) => Promise<{ error: unknown }>;
  readonly read: () => Promise<readonly BaseMessage[]>;
}

type Open = (model: HaltingModel, tools: ReturnType<typeof makeTool>[], setup: Setup) => Thread;

const withAgent =
  (options: (channel: Channel) => object): Open =>
  (model, tools, { durability, channel = "full" }) => {
    const agent = createAgent({
      model,
      tools,
      checkpointer: new MemorySaver(),
      ...options(channel),
    } as never);
    const { run, readOpen } = openAgentThread(agent as never);
    return {
      read: readOpen,
      run: (messages, signal) => run({ messages }, { durability, ...(signal && { signal }) }),
    };
  };

const AGENTS: Readonly<Record<"createAgentGraph" | "tetherMiddleware", Open>> = {
  createAgentGraph: (model, tools, { durability, channel = "full" }) => {
    const checkpointer = new MemorySaver();
    const graph = createAgentGraph({ model, tools, checkpointer, messagesChannel: channel });
    const config = { configurable: { thread_id: "1" } };
    const { send } = openThread(graph, "1", { durability });
    const read = async () => messagesOf((await graph.getState(config)).values);
    return { read, run: (messages, signal) => send({ messages }, signal) };
  },
  tetherMiddleware: withAgent((channel) => ({
    middleware: [tetherMiddleware()],
    stateSchema: tetherState({ delta: channel === "delta" }),
  })),
};

/** LangChain's agent lets a history with a call and no result stand, so its state is read without a check. */
const plainAgent: Open = (model, tools, { durability }) => {
  const agent = createAgent({ model, tools, checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  return {
    read: async () => (await agent.graph.getState(config)).values.messages,
    run: (messages, signal) =>
      openAgentThread(agent as never).run({ messages }, { durability, ...(signal && { signal }) }),
  };
};

const SHOWN = "The answer is 4";
const callOf = (name: string): Piece => ({
  tool_call_chunks: [{ id: `call-${name}`, name, args: "{}", index: 0, type: "tool_call_chunk" }],
});
const TEXT = ["The answer ", "is 4", "halt"] as const;

interface Cancel {
  /** The responses of the cancelled run. The last one halts, or its tool does. */
  readonly responses: readonly (readonly (Piece | "halt")[])[];
  readonly isShown?: boolean;
}

const CANCELS: Readonly<Record<string, Cancel>> = {
  "before the first chunk": { responses: [["halt"]] },
  "in mid-text": { responses: [TEXT], isShown: true },
  "in mid-tool": { responses: [[callOf("halting")]] },
  "after the tool": { responses: [[callOf("quick")], ["halt"]] },
  "in mid-second-response": { responses: [["Let me see.", callOf("quick")], TEXT], isShown: true },
};

const human = (text: string, id?: string) => new HumanMessage({ content: text, ...(id && { id }) });
const blocks = (text: string, id: string) => new HumanMessage({ content: [{ type: "text", text }], id });
const QUESTION = "What is it?";

interface Edit {
  /** @param list What the client sees: the state, and the shown text. */
  readonly input: (list: readonly BaseMessage[]) => BaseMessage[];
  /** Whether the shown text is in the thread then. */
  readonly isKept?: boolean;
}

const EDITS: Readonly<Record<string, Edit>> = {
  "other words": { input: () => [human("What was it?", "asked")] },
  "other words, as blocks": { input: () => [blocks("What was it?", "asked")] },
  "other words and a new message": { input: () => [human("What was it?", "asked"), human("Well?", "next")] },
  "the same words": { input: () => [human(QUESTION, "asked")] },
  "the same words, as blocks": { input: () => [blocks(QUESTION, "asked")] },
  "the same words and a new message": {
    input: () => [blocks(QUESTION, "asked"), human("Well?", "next")],
    isKept: true,
  },
  "a removal and a new message": {
    input: () => [new RemoveMessage({ id: "asked" }), human("Well?", "next")],
  },
  "a whole new list": {
    input: () => [
      new RemoveMessage({ id: REMOVE_ALL_MESSAGES }),
      human("Hi.", "first"),
      human("What was it?", "asked"),
    ],
  },
  "other words of an earlier message": { input: () => [human("Hey.", "first")] },
  "other words of an earlier message, and a new one": {
    input: () => [human("Hey.", "first"), human("Well?", "next")],
    isKept: true,
  },
  "its list without ids, and a new message": {
    input: (list) => [
      ...list.flatMap((message): BaseMessage[] => {
        if (message.type === "human") return [human(message.text)];
        return message.type === "ai" && message.text !== "" ? [new AIMessage(message.text)] : [];
      }),
      human("Well?"),
    ],
    isKept: true,
  },
  "a new message": { input: () => [human("Well?", "next")], isKept: true },
};

/** Plays one thread: a turn, a cancelled one, perhaps a second cancelled one, and the edit. */
async function play(open: Open, { responses, isShown = false }: Cancel, { input }: Edit, setup: Setup) {
  let controller = new AbortController();
  const cut = async (): Promise<void> => {
    // The client reads what has come.
    await turns();
    controller.abort();
  };
  const halt: Halt = async () => {
    await cut();
    await new Promise(() => {});
  };
  const model = new HaltingModel(
    ["Hello!"],
    ...responses.map((pieces) => pieces.map((piece) => (piece === "halt" ? halt : piece))),
    ["Reply."],
    ["Last."],
  );
  const halting = makeTool("halting", async (_, { signal }) => {
    await cut();
    signal?.throwIfAborted();
  });
  const thread = open(model, [makeTool("quick", () => "quick done"), halting], setup);
  await thread.run([human("Hi.", "first")]);
  const cancelled = await thread.run([human(QUESTION, "asked")], controller.signal);
  expect(cancelled.error).toBeDefined();
  await turns();
  controller = new AbortController();
  const stored = await thread.read();
  const list = isShown ? [...stored, new AIMessage(SHOWN)] : stored;
  const before = model.asked.length;
  const { error } = await thread.run(input(list));
  expect(error).toBeUndefined();
  await turns();
  return { thread, requests: model.asked.slice(before), messages: await thread.read() };
}

const textsOf = (messages: readonly BaseMessage[] = [], type = "human") =>
  messages.filter((message) => message.type === type).map(({ text }) => text);

/** The words of the user that came before each copy of the shown text. */
const questionsOfShown = (messages: readonly BaseMessage[]) =>
  messages.flatMap(({ type, text }, index) =>
    type === "ai" && text === SHOWN
      ? messages.slice(0, index).findLast((one) => one.type === "human")?.text
      : [],
  );

const SETUPS = (["async", "sync", "exit"] as const).flatMap((durability) =>
  (["full", "delta"] as const).map((channel) => ({ durability, channel })),
);

describe.each(rowsOf(Object.fromEntries(Object.entries(CANCELS).map(([name, one]) => [name, [one]]))))(
  "A run that is cancelled %s, and then",
  (_, cancel) => {
    it.each(rowsOf(Object.fromEntries(Object.entries(EDITS).map(([name, one]) => [name, [one]]))))(
      "%s",
      async (_title, edit) => {
        const plain = await play(plainAgent, cancel, edit, { durability: "sync" });
        const all = Object.entries(AGENTS).flatMap(([name, open]) =>
          SETUPS.map((setup) => ({ name, open, setup })),
        );
        await eachOf(all, async ({ name, open, setup }) => {
          const { requests, messages } = await play(open, cancel, edit, setup);
          const title = [name, setup.durability, setup.channel].join(" ");
          // One request, with the same words of the user.
          expect([title, requests.map((asked) => textsOf(asked))]).toEqual([
            title,
            plain.requests.map((asked) => textsOf(asked)),
          ]);
          expect([title, messages.at(-1)?.text]).toEqual([title, "Reply."]);
          const kept = cancel.isShown && edit.isKept ? [QUESTION] : [];
          expect([title, questionsOfShown(messages)]).toEqual([title, kept]);
          // Nothing is lost that the plain agent keeps.
          expect([title, textsOf(messages)]).toEqual([title, textsOf(plain.messages)]);
          const results = textsOf(messages, "tool");
          if (!textsOf(plain.messages, "tool").every((text) => results.includes(text)))
            expect([title, results]).toEqual([title, textsOf(plain.messages, "tool")]);
        });
      },
    );
  },
);
