/** A process that aborts a run, writes what came after the abort into the thread's diary, and kills itself then. */

import { appendFileSync } from "node:fs";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { callsOf } from "../../src/history/call.js";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { replaceMethods } from "../../src/threads/langgraph/replace-methods.js";
import { FunctionModel, type PlayedModel } from "../support/models.js";
import { strictViolations } from "../support/strict-check.js";
import { connect } from "./connect.js";
import type { Channel, Database, Durability } from "./job.js";

export interface LateJob {
  readonly database: Database;
  readonly threadId: string;
  readonly boot: number;
  readonly agent: "graph" | "middleware";
  readonly durability: Durability;
  readonly messagesChannel: Channel;
  /**
   * - `waits`: the tool ends after the abort.
   * - `closed`: it ends after another turn has closed its call.
   * - `shown`: the model is cut off while its response streams.
   * - `read`: nothing is killed, and the ledger gets the thread.
   */
  readonly moment: "waits" | "closed" | "shown" | "read";
  readonly ledger: string;
}

export interface LateEntry {
  readonly kind: "returned" | "shown" | "thread" | "faults";
  readonly texts: readonly string[];
}

const CALLING = /^call (.*)/;

/** Calls the tool if it is told to, and waits in the middle of a response if it is told to. */
class CutModel extends FunctionModel {
  readonly #halt: () => Promise<unknown>;

  constructor(halt: () => Promise<unknown>) {
    super(({ messages, text }) => {
      const [, id = ""] = CALLING.exec(text) ?? [];
      const isAsked = messages.at(-1)?.type === "human" && id !== "";
      return isAsked
        ? new AIMessage({ content: "", tool_calls: [{ id, name: "deaf", args: { id } }] })
        : `answer to ${text}`;
    });
    this.#halt = halt;
  }

  override async *_streamResponseChunks(
    ...given: Parameters<PlayedModel["_streamResponseChunks"]>
  ): ReturnType<PlayedModel["_streamResponseChunks"]> {
    const [messages] = given;
    for await (const chunk of super._streamResponseChunks(...given)) {
      yield chunk;
      if (messages.at(-1)?.text.startsWith("halt") !== true) continue;
      await this.#halt();
    }
  }
}

async function work({ database, threadId, boot, moment, ...job }: LateJob): Promise<void> {
  const note = (entry: LateEntry) => appendFileSync(job.ledger, `${JSON.stringify(entry)}\n`);
  const { saver, close } = await connect(database, threadId);
  /** Dies when the diary has what came late. */
  const dying: BaseCheckpointSaver = replaceMethods(saver, {
    putWrites: async (config, writes, task) => {
      await saver.putWrites(config, writes, task);
      const isLate = writes.some(
        ([channel, value]) => channel === "tether:diary" && /result|shown/.test(String(Object(value)[1])),
      );
      if (isLate && moment !== "read") process.kill(process.pid, "SIGKILL");
    },
  });
  const ending = new AbortController();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const model = new CutModel(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    ending.abort();
    await new Promise(() => {});
  });
  const deaf = tool(
    async ({ id }) => {
      ending.abort();
      await released;
      note({ kind: "returned", texts: [`done ${id}`] });
      return `done ${id}`;
    },
    { name: "deaf", description: "It does not hear.", schema: z.object({ id: z.string() }) },
  );
  const parts = { model, tools: [deaf], checkpointer: dying };
  const { messagesChannel } = job;
  const graph =
    job.agent === "graph"
      ? createAgentGraph({ ...parts, messagesChannel, maxTokensBeforeSummary: 0 })
      : (createAgent({
          ...parts,
          middleware: [tetherMiddleware()],
          stateSchema: tetherState({ delta: messagesChannel === "delta" }),
        }) as unknown as ReturnType<typeof createAgentGraph>);
  const { durability } = job;
  const config = { configurable: { thread_id: threadId }, durability };
  const send = async (text: string, signal?: AbortSignal): Promise<void> => {
    const shown: string[] = [];
    const options = { ...config, streamMode: "messages" as const, ...(signal && { signal }) };
    try {
      for await (const [message] of (await graph.stream({ messages: text }, options)) as AsyncIterable<
        [BaseMessage]
      >) {
        if (!AIMessageChunk.isInstance(message) || !text.startsWith("halt")) continue;
        shown.push(message.text);
        note({ kind: "shown", texts: [message.text] });
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  };
  process.send?.("started");
  if (moment === "read") {
    const { messages } = await graph.invoke({ messages: `read ${boot}` }, config);
    note({ kind: "thread", texts: messages.map(({ text }) => text) });
    note({ kind: "faults", texts: [...model.refused, ...strictViolations(messages)] });
    await close();
    process.disconnect();
    return;
  }
  await send(moment === "shown" ? `halt ${boot}` : `call ${boot}`, ending.signal);
  // An agent of LangChain tells its caller of the abort before the response is saved, and a user is not that quick.
  const isSaved = async () => {
    const { values, next } = await graph.getState(config);
    const { messages = [] } = values as { messages?: BaseMessage[] };
    return next.includes("tools") && messages.flatMap(callsOf).some(({ id }) => id === `${boot}`);
  };
  if (moment === "closed") {
    while (!(await isSaved())) await new Promise((resolve) => setTimeout(resolve, 5));
    await send(`go on ${boot}`);
  }
  release();
  // The process dies when the diary is written, or at last here.
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 20_000);
}

process.once("message", (job: LateJob) => void work(job));
process.send?.("ready");
