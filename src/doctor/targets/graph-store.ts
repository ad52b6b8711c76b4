/** Threads in a database, read and written through the graph that they belong to. */

import type { BaseCheckpointSaver, StateSnapshot } from "@langchain/langgraph";
import { guardHead } from "../../langgraph/checkpoints/guard-head.js";
import { withUniqueVersions } from "../../langgraph/checkpoints/unique-versions.js";
import { replaceMethods } from "../../langgraph/replace-methods.js";
import { type CompiledGraph, createThreadView, type ThreadView } from "../../langgraph/thread-view.js";
import type { OpenTask, StoredMessages, StoredThread, ThreadStatus } from "../stored-thread.js";
import type { ThreadRef, ThreadStore, ThreadWrite, WriteOutcome } from "../thread-store.js";
import { findEndedRuns } from "./ended-runs.js";
import { reasonOf } from "./reason-of.js";
import type { HideSecrets } from "./safe-address.js";
import { selectHeads } from "./select-heads.js";
import type { ThreadTable } from "./thread-table.js";

export interface GraphStoreParts {
  readonly target: string;
  readonly graph: CompiledGraph;
  readonly saver: BaseCheckpointSaver;
  readonly table: ThreadTable;
  readonly canWrite: boolean;
  readonly hide: HideSecrets;
  readonly close: () => Promise<void>;
}

export function createGraphStore(parts: GraphStoreParts): ThreadStore {
  const { target, table, canWrite, close } = parts;
  return {
    target,
    canWrite,
    threads: (selection) => selectHeads(table, selection),
    read: (ref) => (ref.namespace === "" ? readThread(parts, ref) : readSubgraph(parts, ref)),
    write: (ref, write) => writeThread(parts, ref, write),
    measure: ({ threadId }) => table.measure(threadId),
    close,
  };
}

const latest = ({ threadId, namespace }: ThreadRef) => ({
  configurable: { thread_id: threadId, checkpoint_ns: namespace },
});

async function readThread(parts: GraphStoreParts, ref: ThreadRef): Promise<StoredThread> {
  const { graph, table, hide } = parts;
  // One read asks for the latest checkpoint several times.
  const saver = rememberReads(parts.saver);
  const view = createThreadView(graph, saver);
  const head = await saver.getTuple(latest(ref)).catch(async (error: unknown) => {
    // Throws if the database itself cannot be read.
    const checkpointId = await table.headOf(ref);
    return { error, checkpointId };
  });
  if (head === undefined) return emptyThread(ref, { kind: "none" });
  if ("error" in head)
    return { ...emptyThread(ref, { kind: "unreadable", reason: hide(reasonOf(head.error)) }), checkpointId: head.checkpointId };
  const { content, snapshot } = await readContent(view, ref, hide);
  const openTasks = snapshot === undefined ? undefined : openTasksOf(snapshot);
  const values: Record<string, unknown> = { ...snapshot?.values };
  const messages = content.kind === "read" || content.kind === "bricked" ? content.messages : undefined;
  return {
    threadId: ref.threadId,
    namespace: ref.namespace,
    checkpointId: head.checkpoint.id,
    updatedAt: head.checkpoint.ts,
    status: statusOf(snapshot, view),
    content,
    endedRuns:
      messages === undefined ? [] : await findEndedRuns({ head, saver, view, messages, threadId: ref.threadId }),
    openTasks,
    otherChannels: Object.keys(values).filter((name) => name !== "messages" && values[name] !== undefined),
    messagesChannel: view.messagesChannel,
  };
}

async function readContent(
  view: ThreadView,
  ref: ThreadRef,
  hide: HideSecrets,
): Promise<{ readonly content: StoredMessages; readonly snapshot?: StateSnapshot }> {
  let reason: string;
  try {
    const snapshot = await view.read(latest(ref));
    return { content: contentOf(snapshot, "read"), snapshot };
  } catch (error) {
    reason = hide(reasonOf(error));
  }
  try {
    const snapshot = await view.readLeniently(latest(ref));
    const content = contentOf(snapshot, "read");
    return {
      content: { kind: "bricked", reason, messages: content.kind === "read" ? content.messages : undefined },
      snapshot,
    };
  } catch {
    return { content: { kind: "bricked", reason, messages: undefined } };
  }
}

function contentOf({ values }: StateSnapshot, kind: "read"): StoredMessages {
  const messages: unknown = Object(values)["messages"];
  return Array.isArray(messages) ? { kind, messages } : { kind: "none" };
}

/** A graph has the nodes and channels of a subgraph at another place, so only the list itself is read. */
async function readSubgraph({ saver, table, hide }: GraphStoreParts, ref: ThreadRef): Promise<StoredThread> {
  try {
    const tuple = await saver.getTuple(latest(ref));
    const messages = tuple?.checkpoint.channel_values["messages"];
    const content: StoredMessages = Array.isArray(messages) ? { kind: "read", messages } : { kind: "none" };
    return { ...emptyThread(ref, content), checkpointId: tuple?.checkpoint.id, updatedAt: tuple?.checkpoint.ts };
  } catch (error) {
    const checkpointId = await table.headOf(ref);
    return { ...emptyThread(ref, { kind: "unreadable", reason: hide(reasonOf(error)) }), checkpointId };
  }
}

function emptyThread(ref: ThreadRef, content: StoredMessages): StoredThread {
  return {
    threadId: ref.threadId,
    namespace: ref.namespace,
    checkpointId: undefined,
    status: "idle",
    content,
    endedRuns: [],
    openTasks: undefined,
    otherChannels: [],
  };
}

/** LangGraph gives a task a result when it has written something. */
function openTasksOf({ tasks }: StateSnapshot): OpenTask[] {
  return tasks
    .filter((task) => task.result === undefined)
    .map(({ id, name, error, interrupts }) => ({
      id,
      node: name,
      error: error === undefined ? undefined : reasonOf(error),
      interrupts: interrupts.map(({ value }) => value),
    }));
}

/** A database does not tell whether a run is going on, so such a thread is never `busy`. */
function statusOf(snapshot: StateSnapshot | undefined, view: ThreadView): ThreadStatus {
  if (snapshot === undefined) return "error";
  const { tasks, next } = snapshot;
  if (tasks.some(({ interrupts }) => interrupts.length > 0)) return "interrupted";
  if (tasks.some(({ error }) => error !== undefined)) return "error";
  return view.stopsAt(next) ? "interrupted" : "idle";
}

async function writeThread(
  { graph, saver, table }: GraphStoreParts,
  ref: ThreadRef,
  { expectedCheckpointId, messages, asNode }: ThreadWrite,
): Promise<WriteOutcome> {
  const moved = async (): Promise<WriteOutcome> => ({ kind: "moved", checkpointId: await table.headOf(ref) });
  if ((await table.headOf(ref)) !== expectedCheckpointId) return moved();
  const guarded = guardHead(withUniqueVersions(saver), ref.threadId).saver;
  const expecting = replaceMethods(guarded, {
    getTuple: async (config) => {
      const tuple = await guarded.getTuple(config);
      const { checkpoint_id } = { ...config.configurable };
      if (checkpoint_id === undefined && tuple?.checkpoint.id !== expectedCheckpointId) throw new MovedError();
      return tuple;
    },
  });
  const view = createThreadView(graph, saver);
  const write = (node: string | undefined) => view.write(latest(ref), messages, { asNode: node, saver: expecting });
  try {
    await Promise.resolve(write(asNode)).catch(async (error: unknown) => {
      const node = asNode === undefined && isAmbiguous(error) ? await openNode(view, ref) : undefined;
      if (node === undefined) throw error;
      await write(node);
    });
  } catch (error) {
    if (hasMoved(error)) return moved();
    throw error;
  }
  return { kind: "written", checkpointId: await table.headOf(ref) };
}

class MovedError extends Error {
  readonly code = "THREAD_MOVED";
}

const hasMoved = (error: unknown): boolean => Object(error).code === "THREAD_MOVED";

/** Two nodes ran in the last superstep. LangGraph then wants to be told in whose name the state is written. */
const isAmbiguous = (error: unknown): boolean => /ambiguous update/i.test(String(Object(error).message));

async function openNode(view: ThreadView, ref: ThreadRef): Promise<string | undefined> {
  const { tasks } = await view.readLeniently(latest(ref));
  return tasks[0]?.name;
}

/** Contract: each checkpoint is loaded once. */
function rememberReads(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  const reads = new Map<string, ReturnType<BaseCheckpointSaver["getTuple"]>>();
  return replaceMethods(saver, {
    getTuple: (config) => {
      const { thread_id, checkpoint_ns = "", checkpoint_id = "" } = { ...config.configurable };
      const key = JSON.stringify([thread_id, checkpoint_ns, checkpoint_id]);
      const read = reads.get(key) ?? saver.getTuple(config);
      reads.set(key, read);
      return read;
    },
  });
}

