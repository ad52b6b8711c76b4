/** Random programs on threads whose summaries archive: each branch has what was said in it, and nothing of another one. */

import { AIMessage, type BaseMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import fc from "fast-check";
import { createAgent } from "langchain";
import { afterAll, describe, expect } from "vitest";
import { z } from "zod";
import { archiveOf } from "../../src/history/summary.js";
import { createAgentGraph, readFullHistory, restoreCovered } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { copyThread } from "../support/copy-thread.js";
import { FunctionModel, shortSummariser } from "../support/models.js";
import type { AnyAgent } from "../support/open-thread.js";
import { SAVERS, type SaverKind } from "../support/savers.js";
import { law } from "../support/test-tools.js";
import { messagesOf } from "../support/thread.js";

type Act =
  | { readonly kind: "turn"; readonly calls: boolean; readonly repeats: boolean; readonly sendsAll: boolean }
  | { readonly kind: "fork" | "edit" | "remove"; readonly which: number }
  | { readonly kind: "write"; readonly asNode: boolean }
  | { readonly kind: "copy" }
  | { readonly kind: "restore" };

const SUMMARIES = {
  coveredMessages: "archive",
  maxTokensBeforeSummary: 0,
  maxMessagesBeforeSummary: 6,
  messagesToKeep: 2,
} as const;

interface Kind {
  readonly agent: "createAgentGraph" | "tetherMiddleware";
  readonly delta: boolean;
  readonly durability: "sync" | "async" | "exit";
}

/** A place in a thread, and the texts of the branch that leads to it. */
interface Head {
  readonly threadId: string;
  readonly checkpoint: string;
  readonly said: readonly string[];
}

const LONG = " and many more words".repeat(8);

class Program {
  readonly #saver: BaseCheckpointSaver;
  readonly #agent: AnyAgent["graph"];
  readonly #kind: Kind;
  /** What the model and the tool have returned in this turn. */
  #returned: string[] = [];
  #calls = false;
  /** The id that the next response and the next result have. */
  #id: string | undefined;
  #count = 0;
  #threadId = "1";
  #said: readonly string[] = [];
  /** Where the next turn begins. Undefined: at the latest checkpoint. */
  #from: string | undefined;
  readonly heads: Head[] = [];
  archived = 0;

  constructor(saver: BaseCheckpointSaver, kind: Kind) {
    this.#saver = saver;
    this.#kind = kind;
    const model = new FunctionModel(({ messages }) => {
      const calls = this.#calls && messages.at(-1)?.type !== "tool";
      const content = this.#say(calls ? "I look" : "answer");
      this.#returned.push(content);
      const tool_calls = calls ? [{ id: `c${this.#count}`, name: "look", args: {} }] : [];
      const id = calls ? undefined : this.#id;
      return new AIMessage({ content, tool_calls, ...(id !== undefined && { id }) });
    });
    const look = tool(
      (_given, { toolCall }) => {
        const content = this.#say("found");
        this.#returned.push(content);
        const id = this.#id && `t${this.#id}`;
        const tool_call_id = toolCall?.id ?? "";
        return new ToolMessage({ content, tool_call_id, name: "look", ...(id && { id }) });
      },
      { name: "look", description: "look", schema: z.object({}) },
    );
    const parts = { model, tools: [look], checkpointer: saver };
    const summary = { ...SUMMARIES, summaryModel: shortSummariser() };
    const { agent, delta } = kind;
    this.#agent =
      agent === "createAgentGraph"
        ? (createAgentGraph({
            ...parts,
            ...summary,
            messagesChannel: delta ? "delta" : "full",
          } as never) as never)
        : (createAgent({
            ...parts,
            stateSchema: tetherState({ delta }),
            middleware: [tetherMiddleware({ summary })],
          } as never).graph as never);
  }

  #say(what: string): string {
    this.#count += 1;
    return `${what} ${this.#count}${LONG}`;
  }

  #at(checkpoint_id = this.#from) {
    const place = { thread_id: this.#threadId, checkpoint_ns: "" };
    return { configurable: { ...place, ...(checkpoint_id !== undefined && { checkpoint_id }) } };
  }

  async #state(): Promise<BaseMessage[]> {
    const { values } = await this.#agent.getState(this.#at());
    return messagesOf({ messages: [], ...Object(values) });
  }

  async act(act: Act): Promise<void> {
    if (act.kind === "turn") return this.#turn(act);
    if (act.kind === "fork") {
      const head = this.heads[act.which % Math.max(this.heads.length, 1)];
      if (head === undefined) return;
      this.#threadId = head.threadId;
      this.#from = head.checkpoint;
      this.#said = head.said;
      return;
    }
    if (this.heads.length === 0) return;
    if (act.kind === "copy") {
      const to = `${this.#threadId}+`;
      if ((await this.#saver.getTuple({ configurable: { thread_id: to } })) !== undefined) return;
      await copyThread(this.#saver, this.#threadId, to);
      this.#threadId = to;
      return;
    }
    if (act.kind === "restore") return this.#update(await restoreCovered(this.#agent as never, this.#at()));
    if (act.kind === "write") {
      const content = this.#say("written");
      this.#said = [...this.#said, content];
      const node = this.#kind.agent === "createAgentGraph" ? "model" : "model_request";
      return this.#update([{ type: "human", content }], act.asNode ? node : undefined);
    }
    const questions = (await this.#state()).filter(({ text }) => /^(?:question|written)/.test(text));
    const chosen = questions[act.which % Math.max(questions.length, 1)];
    const place = this.#said.indexOf(chosen?.text ?? "");
    if (chosen?.id === undefined || place < 0) return;
    if (act.kind === "remove") {
      this.#said = this.#said.toSpliced(place, 1);
      return this.#update([new RemoveMessage({ id: chosen.id })]);
    }
    const content = this.#say("question, edited");
    this.#said = this.#said.with(place, content);
    return this.#update([{ type: "human", id: chosen.id, content }]);
  }

  async #update(messages: unknown, asNode?: string): Promise<void> {
    await this.#agent.updateState(this.#at(), { messages }, asNode);
    await this.#note();
  }

  async #turn({ calls, repeats, sendsAll }: Extract<Act, { kind: "turn" }>): Promise<void> {
    const content = this.#say("question");
    this.#returned = [];
    this.#calls = calls;
    const inState = new Set((await this.#state()).map(({ id }) => id));
    // Some providers repeat ids. Those of the state are another matter.
    const id = ["r1", "r2", "r3"].find((one) => !inState.has(one) && !inState.has(`t${one}`));
    this.#id = repeats ? id : undefined;
    const config = this.#at();
    const list = sendsAll ? (await readFullHistory(this.#agent as never, config)).map(asClient) : [];
    const input = { messages: [...list, { type: "human", id: `q${this.#count}`, content }] };
    await this.#agent.invoke(input, { ...config, durability: this.#kind.durability });
    this.#said = [...this.#said, content, ...this.#returned];
    await this.#note();
  }

  async #note(): Promise<void> {
    this.#from = undefined;
    const { config, values } = await this.#agent.getState(this.#at());
    this.archived += messagesOf(values).filter((message) => archiveOf(message) !== undefined).length;
    const checkpoint: string = config.configurable?.["checkpoint_id"];
    this.heads.push({ threadId: this.#threadId, checkpoint, said: this.#said });
  }

  /** Checks that the branch of each head has all that was said in it, in order, and nothing else. */
  async check(): Promise<void> {
    const threads = new Set(this.heads.map(({ threadId }) => threadId));
    for (const { threadId, checkpoint, said } of this.heads)
      for (const place of [...threads].filter((thread) => thread.startsWith(threadId))) {
        const config = { configurable: { thread_id: place, checkpoint_id: checkpoint } };
        // A thread that was copied earlier lacks what came later.
        if ((await this.#saver.getTuple(config)) === undefined) continue;
        const lost: unknown[] = [];
        const onMissing = (missing: unknown) => void lost.push(missing);
        for (const from of [this.#agent, this.#saver]) {
          const whole = await readFullHistory(from as never, config, { onMissing });
          expect(whole.map(({ text }) => text)).toEqual(said);
          expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
        }
        expect(lost).toEqual([]);
        const page = await readFullHistory(this.#agent as never, config, { limit: 3 });
        expect(page.map(({ text }) => text)).toEqual(said.slice(-3));
      }
  }
}

/** What a client has of a message. */
const asClient = (message: BaseMessage) => ({
  id: message.id,
  type: message.type,
  content: message.text,
  ...("tool_calls" in message && { tool_calls: message.tool_calls }),
  ...("tool_call_id" in message && { tool_call_id: message.tool_call_id, name: message.name }),
});

const which = fc.nat({ max: 20 });
const rarely = fc.integer({ min: 0, max: 4 }).map((number) => number === 0);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("turn" as const),
      calls: fc.boolean(),
      repeats: fc.boolean(),
      sendsAll: rarely,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("fork", "edit", "remove"), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("write" as const), asNode: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("copy", "restore") }) },
) as fc.Arbitrary<Act>;
/** LangGraph's own graphs mix up the branches of a saver that keeps the first value of each version. */
const agentsWith = (title: string) =>
  ["MemorySaver", "SqliteSaver"].includes(title) ? AGENTS : AGENTS.slice(0, 1);
const AGENTS = ["createAgentGraph", "tetherMiddleware"] as const;

describe.each(SAVERS.filter(({ isThere }) => isThere))("With $title", ({ open, title }: SaverKind) => {
  const kind: fc.Arbitrary<Kind> = fc.record({
    agent: fc.constantFrom(...agentsWith(title)),
    delta: fc.boolean(),
    durability: fc.constantFrom("sync" as const, "async" as const, "exit" as const),
  });
  let archived = 0;
  afterAll(() => expect(archived).toBeGreaterThan(5));

  law(
    "each branch of a thread reads back what was said in it",
    12,
    [kind, fc.array(act, { minLength: 6, maxLength: 16 })],
    async (chosen, acts) => {
      const { connect } = await open();
      const program = new Program(connect(), chosen);
      for (const one of acts) await program.act(one);
      await program.check();
      archived += program.archived;
    },
  );
});
