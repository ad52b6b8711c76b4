/**
 * A run is cancelled, and its client then edits, removes or repeats messages. What was shown of the response stays with
 * the question that it answered, or goes with it. The model is asked the same words as in a plain `createAgent`.
 */

import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  InMemoryStore,
  MemorySaver,
  REMOVE_ALL_MESSAGES,
} from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware, tetherState } from "../../../src/langchain.js";
import { eachOf, turns } from "../../support/async.js";
import { type Halt, HaltingModel, type Piece } from "../../support/halting-model.js";
import { lines } from "../../support/lines.js";
import { FunctionModel, type PlayedModel } from "../../support/models.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { openAgentThread, openThread } from "../../support/open-thread.js";
import { rowsOf } from "../../support/test-tools.js";
import { inThread, messagesOf, script } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

type Durability = "async" | "sync" | "exit";
type Channel = "full" | "delta";

interface Setup {
  readonly durability: Durability;
  readonly channel?: Channel;
  readonly checkpointer?: BaseCheckpointSaver;
}

interface Thread {
  /** One run. It does not reject if the run fails. */
  readonly run: (messages: readonly BaseMessage[], signal?: AbortSignal) => Promise<{ error: unknown }>;
  readonly read: () => Promise<readonly BaseMessage[]>;
}

type Open = (model: PlayedModel, tools: ReturnType<typeof makeTool>[], setup: Setup) => Thread;

const AGENTS: Readonly<Record<"createAgentGraph" | "tetherMiddleware", Open>> = {
  createAgentGraph: (model, tools, { durability, channel = "full", checkpointer = new MemorySaver() }) => {
    const graph = createAgentGraph({ model, tools, checkpointer, messagesChannel: channel });
    const config = { configurable: { thread_id: "1" } };
    const { send } = openThread(graph, "1", { durability });
    const read = async () => messagesOf((await graph.getState(config)).values);
    return { read, run: (messages, signal) => send({ messages }, signal) };
  },
  tetherMiddleware: (model, tools, { durability, channel, checkpointer = new MemorySaver() }) => {
    const stateSchema = tetherState({ delta: channel === "delta" });
    const agent = createAgent({ model, tools, checkpointer, stateSchema, middleware: [tetherMiddleware()] });
    const { run, readOpen } = openAgentThread(agent as never);
    const read = readOpen;
    return { read, run: (messages, signal) => run({ messages }, { durability, ...(signal && { signal }) }) };
  },
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
  /** The user's messages then, where what followed the edited one is left out. Undefined: those of a plain agent. */
  readonly cutTo?: readonly string[];
}

const EDITS: Readonly<Record<string, Edit>> = {
  "other words": { input: () => [human("What was it?", "asked")], cutTo: ["Hi.", "What was it?"] },
  "other words, as blocks": {
    input: () => [blocks("What was it?", "asked")],
    cutTo: ["Hi.", "What was it?"],
  },
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
  "other words of an earlier message": { input: () => [human("Hey.", "first")], cutTo: ["Hey."] },
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

/** The most different ones, where no text can come back. */
const ENDS: readonly Setup[] = [
  { durability: "async", channel: "full" },
  { durability: "exit", channel: "delta" },
];

describe.each(rowsOf(Object.fromEntries(Object.entries(CANCELS).map(([name, one]) => [name, [one]]))))(
  "A run that is cancelled %s, and then",
  (_, cancel) => {
    it.each(rowsOf(Object.fromEntries(Object.entries(EDITS).map(([name, one]) => [name, [one]]))))(
      "%s",
      async (_title, edit) => {
        const plain = await play(plainAgent, cancel, edit, { durability: "sync" });
        const all = Object.entries(AGENTS).flatMap(([name, open]) =>
          (cancel.isShown ? SETUPS : ENDS).map((setup) => ({ name, open, setup })),
        );
        await eachOf(all, async ({ name, open, setup }) => {
          const { requests, messages } = await play(open, cancel, edit, setup);
          const title = [name, setup.durability, setup.channel].join(" ");
          // One request, with the same words of the user.
          // The middleware does not see what the input was, which LangGraph does not save.
          const isSeen = name === "createAgentGraph" || setup.durability !== "exit";
          const cutTo = isSeen ? edit.cutTo : undefined;
          const words = (ofPlain: readonly BaseMessage[]) => cutTo ?? textsOf(ofPlain);
          expect([title, requests.map((asked) => textsOf(asked))]).toEqual([
            title,
            plain.requests.map((asked) => words(asked)),
          ]);
          expect([title, messages.at(-1)?.text]).toEqual([title, "Reply."]);
          const kept = cancel.isShown && edit.isKept ? [QUESTION] : [];
          expect([title, questionsOfShown(messages)]).toEqual([title, kept]);
          // Nothing is lost that the plain agent keeps.
          expect([title, textsOf(messages)]).toEqual([title, words(plain.messages)]);
          const results = textsOf(messages, "tool");
          if (cutTo !== undefined) expect([title, results]).toEqual([title, []]);
          else if (!textsOf(plain.messages, "tool").every((text) => results.includes(text)))
            expect([title, results]).toEqual([title, textsOf(plain.messages, "tool")]);
        });
      },
    );
  },
);

/** Two processes with one saver. The first one dies when its model has responded to the question. */
async function playDeath(open: Open, input: readonly BaseMessage[]) {
  const saver = new MemorySaver();
  const { mortal, die } = mortalSaver(saver, ["put"]);
  const dying = new FunctionModel(({ index }) => {
    if (index === 0) return "Hello!";
    die();
    return SHOWN;
  });
  const dead = open(dying, [], { durability: "sync", checkpointer: mortal });
  await dead.run([human("Hi.", "first")]);
  expect((await dead.run([human(QUESTION, "asked")])).error).toBeDefined();
  const model = new FunctionModel(() => "Reply.");
  const next = open(model, [], { durability: "sync", checkpointer: saver });
  expect((await next.run(input)).error).toBeUndefined();
  return { asked: model.requests.length, after: script(await next.read()).slice(2) };
}

const OTHER = human("What was it?", "asked");
const EARLIER = human("Hey.", "first");
const NEXT = human("Well?", "next");

describe.each(Object.entries(AGENTS))("A whole response that was shown and not stored, %s,", (_, open) => {
  it.each<[title: string, input: BaseMessage[], after: string]>([
    ["to an edit of its question", [OTHER], "human: What was it? | ai: Reply."],
    ["to its removal", [new RemoveMessage({ id: "asked" }), NEXT], "human: Well? | ai: Reply."],
    ["to an edit before it", [EARLIER], ""],
  ])("is no answer %s", async (_title, input, after) => {
    expect(await playDeath(open, input)).toEqual({ asked: 1, after: after === "" ? [] : lines(after) });
  });

  it.each<[title: string, input: BaseMessage[]]>([
    ["a new message", [NEXT]],
    ["an edit before it, and a new message", [EARLIER, NEXT]],
  ])("stays with %s", async (_title, input) => {
    const after = lines("human: What is it? | ai: The answer is 4 | human: Well? | ai: Reply.");
    expect(await playDeath(open, input)).toEqual({ asked: 1, after });
  });
});

it.each<[title: string, input: BaseMessage[]]>([
  ["no messages", []],
  ["its question again, as blocks", [blocks(QUESTION, "asked")]],
])("A whole response is not asked for again by %s", async (_, input) => {
  const after = lines("human: What is it? | ai: The answer is 4");
  expect(await playDeath(AGENTS.createAgentGraph, input)).toEqual({ asked: 0, after });
});

/** A thread of `createAgentGraph` whose run was cancelled in mid-text. */
async function cutThread(...later: readonly (readonly (Piece | "halt")[])[]) {
  let controller = new AbortController();
  const halt: Halt = async () => {
    await turns();
    controller.abort();
    await new Promise(() => {});
  };
  const responses = [["Hello!"], TEXT, ...later, ["Reply."]];
  const model = new HaltingModel(
    ...responses.map((pieces) => pieces.map((piece) => (piece === "halt" ? halt : piece))),
  );
  const graph = createAgentGraph({ model, checkpointer: new MemorySaver(), store: new InMemoryStore() });
  const { send, read } = openThread(graph);
  const cancel = async (message: BaseMessage) => {
    controller = new AbortController();
    expect((await send({ messages: [message] }, controller.signal)).error).toBeDefined();
  };
  await send({ messages: [human("Hi.", "first")] });
  await cancel(human(QUESTION, "asked"));
  return {
    graph,
    model,
    cancel,
    update: (...messages: BaseMessage[]) => graph.updateState(inThread("1"), { messages }),
    send: (...messages: BaseMessage[]) => send({ messages }),
    goOn: () => send(null),
    tail: async () => script(await read()).slice(2),
  };
}

describe("the text of a cancelled response", () => {
  it("goes with its question, and the model is not asked", async () => {
    const { send, model, tail } = await cutThread();
    await send(new RemoveMessage({ id: "asked" }));
    expect([await tail(), model.asked.length]).toEqual([[], 2]);
  });

  it("is no answer if the input says nothing, so the model is asked again", async () => {
    const { send, tail } = await cutThread();
    await send();
    expect(await tail()).toEqual(lines("human: What is it? | ai: Reply."));
  });

  it("stays if a steered message follows it", async () => {
    const { graph, send, tail } = await cutThread();
    await graph.steer("1", "Well?");
    await send();
    expect(await tail()).toEqual(
      lines("human: What is it? | ai: The answer is 4 | human: Well? | ai: Reply."),
    );
  });

  it("is no answer to a question that a state update has edited", async () => {
    const { update, goOn, tail } = await cutThread();
    await update(OTHER);
    await goOn();
    expect(await tail()).toEqual(lines("human: What was it? | ai: Reply."));
  });

  it("is left out too if a new message follows the edited question", async () => {
    const { update, send, tail } = await cutThread();
    await update(OTHER);
    await send(NEXT);
    expect(await tail()).toEqual(lines("human: What was it? | human: Well? | ai: Reply."));
  });

  it("that is in the thread stays when a later question is edited", async () => {
    const { cancel, send, tail } = await cutThread(["No", "halt"]);
    await cancel(NEXT);
    await send(human("Sure?", "next"));
    expect(await tail()).toEqual(
      lines("human: What is it? | ai: The answer is 4 | human: Sure? | ai: Reply."),
    );
  });

  it("that one edit left out does not come back with the next one", async () => {
    const { cancel, send, tail } = await cutThread(["halt"]);
    await cancel(OTHER);
    await send(human(QUESTION, "asked"));
    expect(await tail()).toEqual(lines("human: What is it? | ai: Reply."));
  });
});
