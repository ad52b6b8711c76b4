import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { isRecord } from "../../shared/is-record.js";

export interface ListedThread {
  readonly threadId: string;
  readonly namespace: string;
}

export interface ThreadFilter {
  readonly threadIds?: readonly string[] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly since?: Date | undefined;
  readonly limit?: number | undefined;
}

/**
 * The threads of any checkpointer, and the subgraphs in them. A checkpointer has no method for this, so it reads every
 * checkpoint. Only what decides about a thread is kept: its latest checkpoint.
 */
export async function* listThreads(
  saver: BaseCheckpointSaver,
  { threadIds, metadata, since, limit = Number.POSITIVE_INFINITY }: ThreadFilter,
): AsyncGenerator<ListedThread> {
  const met = new Set<string>();
  let count = 0;
  for (const thread_id of threadIds ?? [undefined]) {
    const config = { configurable: thread_id === undefined ? {} : { thread_id } };
    // The first checkpoint of a thread that is listed is its latest one.
    for await (const tuple of saver.list(config)) {
      if (count >= limit) return;
      const { thread_id: threadId, checkpoint_ns: namespace = "" } = { ...tuple.config.configurable };
      const key = JSON.stringify([threadId, namespace]);
      if (typeof threadId !== "string" || met.has(key)) continue;
      met.add(key);
      const known: unknown = tuple.metadata;
      const isMeant = Object.entries({ ...metadata }).every(
        ([name, value]) => isRecord(known) && known[name] === value,
      );
      if (!isMeant || (since !== undefined && new Date(tuple.checkpoint.ts) < since)) continue;
      count += 1;
      yield { threadId, namespace: String(namespace) };
    }
  }
}
