/**
 * Random programs over the branches of a thread: what a tool returned after the abort of its run, and what clients were
 * shown of a cancelled response, is in the branch where it happened, once, and in no other one.
 */

import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import fc from "fast-check";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { callsOf } from "../../src/history/call.js";
import { callIdOf, isPlaceholder, isResult } from "../../src/history/result.js";
import { createAgentGraph } from "../../src/index.js";
import { diaryWritten } from "../../src/threads/diary.js";
import { turns } from "../support/async.js";
import { FunctionModel, type PlayedModel } from "../support/models.js";
import { law } from "../support/test-tools.js";
import { inThread, pairedMessagesOf } from "../support/thread.js";

const OPERATIONS = ["call", "cut", "say", "end", "continue", "remove", "note"] as const;
const step = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  /** In which branch. */
  at: fc.nat(3),
  /** Whether the branch stays as it is, and the step begins another one. */
  forks: fc.boolean(),
});
const program = fc.record({
  steps: fc.array(step, { minLength: 2, maxLength: 8 }),
  durability: fc.constantFrom("async", "sync", "exit"),
  messagesChannel: fc.constantFrom("full", "delta"),
  isInMemory: fc.boolean(),
});

/** Calls a tool that ignores the abort, or is cut off in the middle of its response. */
class Model extends FunctionModel {
  readonly #cut: () => void;

  constructor(cut: () => void) {
    super(({ messages, text }) => {
      const [, id = ""] = /^call (.*)/.exec(text) ?? [];
      const isAsked = messages.at(-1)?.type === "human" && id !== "";
      return isAsked
        ? new AIMessage({ content: "", tool_calls: [{ id, name: "deaf", args: { id } }] })
        : `answer to ${text}`;
    });
    this.#cut = cut;
  }

  override async *_streamResponseChunks(
    ...given: Parameters<PlayedModel["_streamResponseChunks"]>
  ): ReturnType<PlayedModel["_streamResponseChunks"]> {
    const isCut = given[0].at(-1)?.text.startsWith("cut ") === true;
    for await (const chunk of super._streamResponseChunks(...given)) {
      yield chunk;
      if (!isCut) continue;
      await turns();
      this.#cut();
      await new Promise(() => {});
    }
  }
}

/** The end of a branch, and what must be in what continues it. */
interface Head {
  readonly config: { configurable?: Record<string, unknown> };
  /** The text that was shown last, if its run was cancelled. */
  readonly cut: string | undefined;
  readonly shown: ReadonlySet<string>;
  /** For each call, what the run of its tool in this branch returns. */
  readonly results: Readonly<Record<string, string>>;
}

law("what comes late is in the branch where it happened", 40, [program], async (given) => {
  const saver: BaseCheckpointSaver = given.isInMemory
    ? new MemorySaver()
    : SqliteSaver.fromConnString(":memory:");
  if (!given.isInMemory) onTestFinished(() => void Reflect.get(saver, "db")?.close());
  const { durability, messagesChannel } = given;
  let ending = new AbortController();
  /** The calls that run, with what each of them will return. */
  const open = new Map<string, () => void>();
  const counts = new Map<string, number>();
  const deaf = tool(
    async ({ id }) => {
      ending.abort();
      // A run that continues an older checkpoint runs the tool again.
      const count = (counts.get(id) ?? 0) + 1;
      counts.set(id, count);
      const text = `done ${id} #${count}`;
      await new Promise<void>((resolve) => open.set(text, resolve));
      return text;
    },
    { name: "deaf", description: "It does not hear.", schema: z.object({ id: z.string() }) },
  );
  const graph = createAgentGraph({
    model: new Model(() => ending.abort()),
    tools: [deaf],
    checkpointer: saver,
    messagesChannel,
    maxTokensBeforeSummary: 0,
  });
  const thread = inThread("1");
  const latest = async () => (await graph.getState(thread)).config as Head["config"];
  const run = async (text: string | null, from: Head["config"]): Promise<void> => {
    ending = new AbortController();
    const { signal } = ending;
    const input = text === null ? null : { messages: [new HumanMessage(text)] };
    const options = { ...from, signal, durability, streamMode: "messages" as const };
    try {
      for await (const _ of await graph.stream(input, options as never));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  const end = async (text: string): Promise<void> => {
    open.get(text)?.();
    open.delete(text);
    await turns();
    await diaryWritten("1");
  };
  await run("hello", thread);
  const heads: Head[] = [{ config: await latest(), cut: undefined, shown: new Set(), results: {} }];

  /** What goes on from a branch with a new message has the text that was shown last, unless another branch was written since. */
  const continued = async (head: Head): Promise<Head> => {
    const isLatest =
      (await latest()).configurable?.["checkpoint_id"] === head.config.configurable?.["checkpoint_id"];
    return {
      ...head,
      cut: undefined,
      shown: new Set([...head.shown, ...(isLatest && head.cut ? [head.cut] : [])]),
    };
  };
  const ran = ({ results }: Head, before: ReadonlyMap<string, number>): Head["results"] => {
    const run = [...counts].filter(([id, count]) => before.get(id) !== count);
    return { ...results, ...Object.fromEntries(run.map(([id, count]) => [id, `done ${id} #${count}`])) };
  };
  for (const [index, { operation, at, forks }] of given.steps.entries()) {
    const place = at % heads.length;
    const head = heads[place] as Head;
    if (operation === "end") {
      const [text] = open.keys();
      if (text !== undefined) await end(text);
      continue;
    }
    const before = new Map(counts);
    let next: Head;
    if (operation === "continue") {
      // A turn that is over has nothing to continue.
      const { next: nodes } = await graph.getState(head.config as never);
      if (nodes.length === 0 || head.cut !== undefined) continue;
      await run(null, head.config);
      next = { ...head, cut: undefined, config: await latest(), results: ran(head, before) };
    } else if (operation === "remove" || operation === "note") {
      if (head.cut !== undefined) continue;
      const { values } = await graph.getState(head.config as never);
      const last = values.messages.at(-1);
      // Who removes a placeholder removes the note of where its result will come.
      if (operation === "remove" && last !== undefined && isPlaceholder(last)) continue;
      const update =
        operation === "note" ? new HumanMessage(`note ${index}`) : new RemoveMessage({ id: last?.id ?? "" });
      const config = await graph.updateState(head.config as never, { messages: [update] }, "model");
      next = { ...head, config: config as Head["config"] };
    } else {
      const from = await continued(head);
      await run(`${operation} ${index}`, head.config);
      const cut = operation === "cut" ? `answer to cut ${index}` : undefined;
      next = { ...from, cut, config: await latest(), results: ran(head, before) };
    }
    if (forks) heads.push(next);
    else heads[place] = next;
  }
  for (const text of [...open.keys()]) await end(text);
  for (const head of heads) {
    const { shown } = await continued(head);
    await run("at last", head.config);
    const messages = pairedMessagesOf((await graph.getState(thread)).values);
    expectOwn(messages, head.results, shown);
  }
});

/** Every call has the result that its tool returned in this branch, and every cancelled response its text. */
function expectOwn(messages: readonly BaseMessage[], results: Head["results"], shown: ReadonlySet<string>) {
  const called = messages.flatMap(callsOf).map(({ id }) => id);
  const answers = messages.filter(isResult).map((result) => [callIdOf(result), result.text]);
  expect(answers).toEqual(called.map((id) => [id, results[id]]));
  const cut = messages.filter(({ text }) => text.startsWith("answer to cut ")).map(({ text }) => text);
  expect(cut).toEqual([...shown]);
}
