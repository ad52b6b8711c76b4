/**
 * A thread into whose inbox messages are put at chosen operations of its runs. An operation is a write to the saver, a
 * use of the store, a tool, a request or a chunk. The process can die at each of them.
 */

import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { type Durability, dying, MortalModel } from "./crashing-thread.js";
import { makeTool } from "./make-tool.js";
import { config, INBOX } from "./steering.js";
import { messagesOf, user } from "./thread.js";

export interface SteeredRun {
  /** The message of the user. Null: the run continues. Undefined: it has no new message. */
  readonly text?: string | null | undefined;
  /** The operations at which a message is put into the inbox. */
  readonly arrivals: readonly number[];
  /** The operation at which the process dies. Undefined: it lives. */
  readonly diesAt?: number | undefined;
  /** The client removes a steered message afterwards: the one at this place of all that are in the state. */
  readonly removes?: number | undefined;
}

/** @param batches How many calls each round of a turn has. */
export function steeredCrashes(durability: Durability, batches: readonly number[]) {
  const saver = new MemorySaver();
  const store = new InMemoryStore();
  const refused: string[] = [];
  const sent: string[] = [];
  const removed: string[] = [];
  const reader = createAgentGraph({ model: "offline:", checkpointer: saver, store });
  const read = async (): Promise<BaseMessage[]> => {
    const { values } = await reader.getState(config);
    return values.messages === undefined ? [] : messagesOf(values);
  };

  async function play({ text, arrivals, diesAt = Number.POSITIVE_INFINITY, removes }: SteeredRun) {
    let operations = 0;
    const live = (): void => {
      if (operations >= diesAt) throw new Error("The process has died.");
      operations += 1;
      for (const _ of arrivals.filter((at) => at === operations)) {
        const content = `steered ${String(sent.length).padStart(3, "0")}`;
        sent.push(content);
        // It is in the store at once. Another process puts it, so it never dies.
        void store.put(INBOX, content, { role: "user", content });
      }
    };
    const model = new MortalModel(live, ({ messages }) => respond(messages, batches));
    const graph = createAgentGraph({
      model,
      tools: [noting(live)],
      checkpointer: dying(saver, ["put", "putWrites"], live),
      store: dying(store, ["batch"], live),
    });
    const input = typeof text === "string" ? user(text) : text === null ? null : { messages: [] };
    try {
      await graph.invoke(input, { ...config, durability });
    } catch (error) {
      if (operations < diesAt) throw error;
    }
    refused.push(...model.refused);
    if (removes !== undefined) await remove(removes);
    return { operations, hasDied: operations >= diesAt };
  }

  async function remove(place: number): Promise<void> {
    const steered = (await read()).filter(({ text }) => text.startsWith("steered"));
    const message = steered[place % Math.max(steered.length, 1)];
    if (message === undefined) return;
    removed.push(message.text);
    await reader.updateState(config, { messages: [new RemoveMessage({ id: message.id ?? "" })] });
  }

  /** The keys of the items that are in the inbox. */
  const inbox = async () => (await store.search(INBOX, { limit: 1000 })).map(({ key }) => key);
  return { play, read, inbox, sent, removed, refused };
}

/** A round of calls for each batch, after a request that begins with `work`. */
function respond(messages: readonly BaseMessage[], batches: readonly number[]): string | AIMessage {
  const start = messages.findLastIndex(({ type, text }) => type === "human" && text.includes("work"));
  const rounds = messages.slice(start).filter(({ type }) => type === "ai").length;
  const size = start < 0 ? 0 : (batches[rounds] ?? 0);
  if (size === 0) return `answer ${messages.length}`;
  const tool_calls = Array.from({ length: size }, (_, index) => ({
    id: `${start}-${rounds}-${index}`,
    name: "note",
    args: { label: `${rounds}-${index}` },
  }));
  return new AIMessage({ content: "", tool_calls });
}

function noting(live: () => void) {
  return makeTool(
    "note",
    async ({ label }: { label: string }) => {
      live();
      await Promise.resolve();
      live();
      return `noted ${label}`;
    },
    z.object({ label: z.string() }),
  );
}
