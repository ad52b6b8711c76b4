/**
 * Runs are cancelled in mid-text or before it, and their questions edited, removed or followed by others, in any order.
 * The shown text of each cancelled response stands once, directly after its question, or nowhere if the next input has
 * edited or removed the question. Each run that is not cancelled answers the latest words of the user.
 */

import { type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { createAgent } from "langchain";
import { expect } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { turns } from "../support/async.js";
import { type Halt, HaltingModel, type Piece } from "../support/halting-model.js";
import { openAgentThread, openThread } from "../support/open-thread.js";
import { law } from "../support/test-tools.js";

/** Answers the last words of the user, and is cancelled before its first piece or after its last. */
class EchoModel extends HaltingModel {
  readonly #next: () => readonly ("text" | Halt)[];

  constructor(next: () => readonly ("text" | Halt)[]) {
    super();
    this.#next = next;
  }

  protected override respond(messages: readonly BaseMessage[]): (Piece | Halt)[] {
    const words = messages.findLast(({ type }) => type === "human")?.text;
    return this.#next().flatMap((piece): (Piece | Halt)[] =>
      piece === "text" ? ["to ", `${words}`] : [piece],
    );
  }
}

const AGENTS = {
  graph: (model: EchoModel, isDelta: boolean, durability: "sync" | "exit") => {
    const messagesChannel = isDelta ? "delta" : "full";
    const graph = createAgentGraph({ model, checkpointer: new MemorySaver(), messagesChannel });
    const { read, send } = openThread(graph, "1", { durability });
    return { read, run: (messages: BaseMessage[], signal: AbortSignal) => send({ messages }, signal) };
  },
  middleware: (model: EchoModel, delta: boolean, durability: "sync" | "exit") => {
    const stateSchema = tetherState({ delta });
    const middleware = [tetherMiddleware()];
    const agent = createAgent({ model, checkpointer: new MemorySaver(), stateSchema, middleware });
    const { read, run } = openAgentThread(agent as never);
    return {
      read,
      run: (messages: BaseMessage[], signal: AbortSignal) => run({ messages }, { durability, signal }),
    };
  },
};

const step = fc.record({
  /** What becomes of the last question, if its run was cancelled. */
  last: fc.constantFrom("stays", "edited", "removed"),
  isFollowed: fc.boolean(),
  end: fc.constantFrom("answered", "cut before the text", "cut after the text"),
});

law(
  "The text of a cancelled response goes with its question",
  60,
  [
    fc.constantFrom("graph", "middleware"),
    fc.boolean(),
    fc.constantFrom("sync", "exit"),
    fc.array(step, { minLength: 2, maxLength: 7 }),
  ],
  async (name, isDelta, durability, steps) => {
    let controller = new AbortController();
    let pieces: readonly ("text" | Halt)[] = [];
    const halt: Halt = async () => {
      await turns();
      controller.abort();
      await new Promise(() => {});
    };
    const model = new EchoModel(() => pieces);
    const thread = AGENTS[name as keyof typeof AGENTS](model, isDelta, durability as "sync");
    /** The user's messages by id, and the texts that were shown for them, which the thread must have. */
    const asked = new Map<string, string>();
    const kept: string[] = [];
    let cut: { readonly id: string; readonly text: string | undefined } | undefined;
    for (const [index, { last, isFollowed, end }] of steps.entries()) {
      const input: BaseMessage[] = [];
      const say = (id: string) => {
        asked.set(id, `words ${index} of ${id}`);
        input.push(new HumanMessage({ id, content: asked.get(id) ?? "" }));
      };
      const before = cut;
      cut = undefined;
      if (before !== undefined && last === "edited") say(before.id);
      if (before !== undefined && last === "removed") {
        asked.delete(before.id);
        input.push(new RemoveMessage({ id: before.id }));
      }
      if (before !== undefined && last === "stays" && before.text !== undefined) kept.push(before.text);
      if (isFollowed || !input.some(({ type }) => type === "human")) say(`u${index}`);
      controller = new AbortController();
      pieces = {
        answered: ["text" as const],
        "cut before the text": [halt],
        "cut after the text": ["text" as const, halt],
      }[end as "answered"];
      const { error } = await thread.run(input, controller.signal);
      await turns();
      const [id, words] = [...asked].at(-1) ?? ["", ""];
      expect(error === undefined).toBe(end === "answered");
      if (end === "answered") kept.push(`to ${words}`);
      else cut = { id, text: end === "cut after the text" ? `to ${words}` : undefined };
    }
    controller = new AbortController();
    pieces = ["text"];
    if (cut?.text !== undefined) kept.push(cut.text);
    await thread.run([new HumanMessage({ id: "end", content: "the end" })], controller.signal);
    const messages = await thread.read();
    expect(messages.filter(({ type }) => type === "human").map(({ text }) => text)).toEqual([
      ...asked.values(),
      "the end",
    ]);
    expect(messages.filter(({ type }) => type === "ai").map(({ text }) => text)).toEqual([
      ...kept,
      "to the end",
    ]);
    for (const [index, { type, text }] of messages.entries())
      if (type === "ai") expect(text).toBe(`to ${messages[index - 1]?.text}`);
  },
);
