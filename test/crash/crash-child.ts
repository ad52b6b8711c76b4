/** A process that runs one turn of an agent, and can kill itself in the middle of it. */

import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { createAgentGraph, type MissingMessages, readFullHistory } from "../../src/index.js";
import { FunctionModel, PlayedModel } from "../support/models.js";
import { strictViolations } from "../support/strict-check.js";
import { connect } from "./connect.js";
import type { Job, NewEntry, Noted, Passed } from "./job.js";
import { noteAll, notedSaver, RESULT } from "./noted-saver.js";

const TOOLS = ["first", "second", "third"];
const LONGEST_TOOL_MS = 12;
/** A turn of two rounds is longer, so each turn has a summary or two. */
const SUMMARIES = { coveredMessages: "archive", maxTokensBeforeSummary: 250, messagesToKeep: 5 } as const;

type Respond = (messages: readonly BaseMessage[], round: number) => readonly AIMessageChunk[];

/** A model whose process can die before a chunk. Each response knows how many the process had before. */
class ChunkedModel extends PlayedModel {
  readonly #passChunk: () => void;
  readonly #respond: Respond;
  #round = 0;

  constructor(passChunk: () => void, respond: Respond) {
    super();
    this.#passChunk = passChunk;
    this.#respond = respond;
  }

  protected override async play(messages: readonly BaseMessage[]): Promise<readonly AIMessageChunk[]> {
    const round = this.#round;
    this.#round += 1;
    return this.#respond(messages, round);
  }

  override async *_streamResponseChunks(
    ...given: Parameters<PlayedModel["_streamResponseChunks"]>
  ): ReturnType<PlayedModel["_streamResponseChunks"]> {
    for await (const chunk of super._streamResponseChunks(...given)) {
      this.#passChunk();
      yield chunk;
    }
  }
}

const textChunks = (text: string) => text.split(/(?<= )/).map((content) => new AIMessageChunk({ content }));

async function work(job: Job): Promise<void> {
  const { boot, killAt, threadId, durability, messagesChannel } = job;
  const note = (entry: NewEntry) => appendFileSync(job.ledger, `${JSON.stringify({ ...entry, boot })}\n`);
  let count = 0;
  let isCounting = killAt?.since === undefined;
  /** Notes an operation, and dies if it is the one to die at. */
  const pass = (entry: Passed) => {
    note(entry);
    isCounting ||= entry.kind === killAt?.since;
    if (!isCounting || entry.kind !== killAt?.operation) return;
    count += 1;
    if (count !== killAt.count) return;
    note({ kind: "kill" });
    process.kill(process.pid, "SIGKILL");
  };

  note({ kind: "boot", text: job.text });
  const { saver, store, close } = await connect(job.database, threadId);
  const model = new ChunkedModel(
    () => pass({ kind: "chunk" }),
    (messages, round) => {
      pass({ kind: "model", faults: strictViolations(messages) });
      if (round >= job.rounds) return textChunks(`answer of ${boot}`);
      const tool_calls = TOOLS.map((name, index) => {
        const id = `c${boot}_${round}_${index}`;
        return { id, name, args: { callId: id }, type: "tool_call" as const };
      });
      return [...textChunks("I look it up. "), new AIMessageChunk({ content: "", tool_calls })];
    },
  );
  const summaryModel = new FunctionModel(({ index }) => {
    pass({ kind: "summary" });
    return `summary ${index} of ${boot}`;
  });
  const tools = TOOLS.map((name) =>
    tool(
      async ({ callId }) => {
        pass({ kind: "tool-start", callId });
        await delay(Math.random() * LONGEST_TOOL_MS);
        pass({ kind: "tool-end", callId });
        return `${RESULT}${callId}`;
      },
      { name, description: name, schema: z.object({ callId: z.string() }) },
    ),
  );
  const parts = { model, tools, checkpointer: notedSaver(saver, pass) };
  const graph =
    job.agent === undefined
      ? createAgentGraph({
          ...parts,
          messagesChannel,
          ...(job.isSummarised ? { ...SUMMARIES, summaryModel, store } : { maxTokensBeforeSummary: 0 }),
        })
      : await makeOther(job.agent, parts);
  const config = { configurable: { thread_id: threadId } };
  /** The whole conversation, with what is archived. It throws if some of that is lost. */
  const noteHistory = async (state: { messages?: unknown }): Promise<Noted[]> => {
    // Others have no archive.
    if (job.agent !== undefined) return noteAll(state.messages);
    const lost: string[] = [];
    const onMissing = ({ messages }: MissingMessages) => void lost.push(...messages);
    const whole = await readFullHistory(graph as never, config, { onMissing });
    if (lost.length > 0) throw new Error(`The archive has lost ${lost.join()}.`);
    return noteAll(whole);
  };
  const { values } = await graph.getState(config);
  note({ kind: "state", messages: await noteHistory(values), faults: [] });
  process.send?.("started");
  try {
    const input = job.text === null ? null : { messages: job.text };
    const result = await graph.invoke(input, { ...config, durability });
    note({
      kind: "result",
      messages: await noteHistory(result),
      // Others store what they like, and repair what the model gets.
      faults: job.agent === undefined ? strictViolations(result.messages) : [],
    });
  } catch (error) {
    const { name, message } = Object(error);
    note({ kind: "error", name: String(name), message: String(message) });
  }
  await close();
  process.disconnect();
}

/** The graph of another implementation. It has the methods of ours that are used here. */
async function makeOther(file: string, parts: object): Promise<ReturnType<typeof createAgentGraph>> {
  const { adapter } = await import(pathToFileURL(file).href);
  return adapter.makeGraph(parts);
}

process.once("message", (job: Job) => void work(job));
process.send?.("ready");
