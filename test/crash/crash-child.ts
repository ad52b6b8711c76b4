/** A process that runs one turn of an agent, and can kill itself in the middle of it. */

import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { AIMessage, type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { replaceMethods } from "../../src/langgraph/replace-methods.js";
import { FunctionModel } from "../support/function-model.js";
import { answeredIdOf, callIdsOf, strictViolations } from "../support/strict-check.js";
import { connect } from "./connect.js";
import type { Entry, Job, Noted, Operation } from "./job.js";

const TOOLS = ["first", "second", "third"];
const LONGEST_TOOL_MS = 12;
const RESULT = "result of ";

function noteMessage(message: BaseMessage): Noted {
  const calls = callIdsOf(message).join();
  const line = `${message.type} ${answeredIdOf(message) ?? ""} ${calls} ${message.text.slice(0, 60)}`;
  return { key: keyOf(message), line };
}

function keyOf(message: BaseMessage): string | undefined {
  if (message.type === "human") return `human ${message.text}`;
  if (message.type !== "tool") return `${message.type} ${message.id}`;
  // Whoever writes a placeholder does not know what the tool returned.
  return message.text.startsWith(RESULT) ? `result ${answeredIdOf(message)}` : undefined;
}

function noteAll(messages: unknown): Noted[] {
  return Array.isArray(messages)
    ? messages.map((message) => noteMessage(coerceMessageLikeToMessage(message)))
    : [];
}

async function work(job: Job): Promise<void> {
  const { boot, killAt, threadId, durability } = job;
  type NewEntry = Entry extends infer Each ? (Each extends Entry ? Omit<Each, "boot"> : never) : never;
  const note = (entry: NewEntry) => appendFileSync(job.ledger, `${JSON.stringify({ ...entry, boot })}\n`);
  let count = 0;
  /** Notes an operation, and dies if it is the one to die at. */
  const pass = (entry: NewEntry & { readonly kind: Operation }) => {
    note(entry);
    if (entry.kind !== killAt?.operation) return;
    count += 1;
    if (count === killAt.count) process.kill(process.pid, "SIGKILL");
  };

  note({ kind: "boot", text: job.text });
  const { saver, close } = await connect(job.database);
  const model = new FunctionModel(({ messages }) => {
    pass({ kind: "model", faults: strictViolations(messages) });
    const sinceUser = messages.slice(messages.findLastIndex(({ type }) => type === "human"));
    const round = sinceUser.filter((message) => callIdsOf(message).length > 0).length;
    if (round >= job.rounds) return `answer of ${boot}`;
    const tool_calls = TOOLS.map((name, index) => {
      const id = `c${boot}_${round}_${index}`;
      return { id, name, args: { callId: id }, type: "tool_call" as const };
    });
    return new AIMessage({ content: "", tool_calls });
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
  const makeGraph = job.agent === undefined ? createAgentGraph : await loadMaker(job.agent);
  const graph = makeGraph({
    model,
    tools,
    checkpointer: noted(saver, pass),
    ...(job.agent === undefined && { maxTokensBeforeSummary: 0 }),
  });
  const config = { configurable: { thread_id: threadId } };
  const { messages } = (await graph.getState(config)).values;
  note({ kind: "state", messages: noteAll(messages), faults: [] });
  process.send?.("started");
  try {
    const input = job.text === null ? null : { messages: job.text };
    const result = await graph.invoke(input, { ...config, durability });
    note({ kind: "result", messages: noteAll(result.messages), faults: strictViolations(result.messages) });
  } catch (error) {
    const { name, message } = Object(error);
    note({ kind: "error", name: String(name), message: String(message) });
  }
  await close();
  process.disconnect();
}

/** The maker of another implementation. Its graph has the methods of ours that are used here. */
async function loadMaker(file: string): Promise<typeof createAgentGraph> {
  const { adapter } = await import(pathToFileURL(file).href);
  return adapter.makeGraph;
}

/** A view of a checkpointer that passes on when a write begins, and when the database has it. */
function noted(
  saver: BaseCheckpointSaver,
  pass: (
    entry:
      | { kind: "put-start" | "writes-start" }
      | {
          kind: "put-end";
          checkpointId: string;
          parentId: string | undefined;
          versions: Readonly<Record<string, unknown>>;
          messages: readonly Noted[];
        }
      | { kind: "writes-end"; checkpointId: string; messages: readonly Noted[] },
  ) => void,
): BaseCheckpointSaver {
  return replaceMethods(saver, {
    put: async (config, checkpoint, metadata, versions) => {
      pass({ kind: "put-start" });
      const saved = await saver.put(config, checkpoint, metadata, versions);
      pass({
        kind: "put-end",
        checkpointId: checkpoint.id,
        parentId: config.configurable?.["checkpoint_id"],
        versions: checkpoint.channel_versions,
        messages: noteAll(checkpoint.channel_values["messages"]),
      });
      return saved;
    },
    putWrites: async (config, writes, taskId) => {
      pass({ kind: "writes-start" });
      await saver.putWrites(config, writes, taskId);
      pass({
        kind: "writes-end",
        checkpointId: String(config.configurable?.["checkpoint_id"]),
        messages: writes.flatMap(([channel, value]) => (channel === "messages" ? noteAll(value) : [])),
      });
    },
  });
}

process.once("message", (job: Job) => void work(job));
process.send?.("ready");
