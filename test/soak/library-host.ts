import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { readFullHistory } from "../../src/index.js";
import { createSoakGraph } from "../fixtures/soak/graph.js";
import { heapInMegabytes } from "../support/heap.js";
import { inThread, messagesOf } from "../support/thread.js";
import { failForMissing, type SoakHost, type SoakThread } from "./run-soak.js";

/** The graph in this process, with one checkpointer for all threads. */
export function libraryHost(): SoakHost {
  const checkpointer = new MemorySaver();
  let count = 0;
  return {
    open: async () => {
      count += 1;
      return openThread(checkpointer, `${count}`);
    },
    heap: async () => heapInMegabytes(),
  };
}

function openThread(checkpointer: MemorySaver, threadId: string): SoakThread {
  const store = new InMemoryStore();
  const graph = createSoakGraph({ checkpointer, store });
  const config = inThread(threadId);
  const at = (checkpoint_id?: string) =>
    checkpoint_id === undefined ? config : { configurable: { ...config.configurable, checkpoint_id } };
  const valuesAt = async (from?: string) => (await graph.getState(at(from))).values;
  return {
    send: async (messages, from) => {
      await graph.invoke({ messages: [...messages] as never }, at(from));
    },
    cancel: async (messages) => {
      const abort = new AbortController();
      const stream = await graph.stream(
        { messages: [...messages] as never },
        { ...config, streamMode: "updates", signal: abort.signal },
      );
      for await (const update of stream) if ("tools" in (update as object)) abort.abort();
    },
    update: async (messages) => {
      await graph.updateState(config, { messages: [...messages] as never });
    },
    read: async () => messagesOf(await valuesAt()),
    readAll: async (from) => readFullHistory(graph, at(from), failForMissing),
    checkpoints: async () => {
      const ids: string[] = [];
      for await (const { next, config: found } of graph.getStateHistory(config, { limit: 40 }))
        if (next.length === 0) ids.push(found.configurable?.["checkpoint_id"]);
      return ids;
    },
    remove: () => checkpointer.deleteThread(threadId),
  };
}
