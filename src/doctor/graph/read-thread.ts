/** Reads a thread of a graph: the stored list, what its own graph makes of it, and what ended runs left. */

import type { CheckpointTuple, StateSnapshot } from "@langchain/langgraph";
import { pairedMessagesDeltaReducer } from "../../langgraph/channels/paired-messages-delta.js";
import { hasFailedTask } from "../../langgraph/checkpoints/abandoned-checkpoint.js";
import { pinMessages } from "../../langgraph/checkpoints/pin-messages.js";
import { waitingInterrupts } from "../../langgraph/checkpoints/resume-values.js";
import {
  isDeltaChannel,
  MESSAGES,
  readState,
  stopsBefore,
  tolerantChannel,
  unwrapped,
} from "../../langgraph/state/swap-channel.js";
import { errorText } from "../error-text.js";
import type { OpenTask, StoredMessages, StoredThread, ThreadStatus } from "../stored-thread.js";
import type { ThreadRef } from "../thread-store.js";
import { findEndedRuns } from "./find-ended-runs.js";
import type { OpenedGraph } from "./graph-thread.js";
import { isOwnName, mendsItself, otherGraphReason } from "./other-graph.js";

/** Contract: never throws for a thread that cannot be read, only if the checkpointer fails for every thread. */
export async function readThread(opened: OpenedGraph, ref: ThreadRef): Promise<StoredThread> {
  const { threadId, namespace } = ref;
  const saver = pinMessages(opened.saver);
  const place = { configurable: { thread_id: threadId, checkpoint_ns: namespace } };
  const base = { threadId, namespace, endedRuns: [], otherChannels: [], openTasks: undefined } as const;
  let tuple: CheckpointTuple | undefined;
  try {
    tuple = await saver.getTuple(place);
  } catch (error) {
    const content = { kind: "unreadable", reason: errorText(error) } as const;
    return { ...base, checkpointId: undefined, status: "error", content };
  }
  if (tuple === undefined)
    return { ...base, checkpointId: undefined, status: "idle", content: { kind: "none" } };

  const graph = { graph: opened.graph, saver };
  const list = await listAt(graph, tuple);
  const otherGraph = namespace === "" ? otherGraphReason(opened.graph, tuple.checkpoint) : undefined;
  // What this graph makes of a thread of another one says nothing about the thread.
  const own = namespace === "" && otherGraph === undefined ? await readOwn(opened, place) : undefined;
  const shown = own?.kind === "read" ? own.state : await readTolerantly(graph, place);
  const tasks = shown?.tasks.map(openTask) ?? [];
  const values = tuple.checkpoint.channel_values;
  const content = contentOf(list, own);
  return {
    threadId,
    namespace,
    checkpointId: tuple.checkpoint.id,
    updatedAt: tuple.checkpoint.ts,
    status: statusOf(opened, tuple, shown),
    content,
    endedRuns: content.kind === "read" || content.kind === "bricked" ? await endedRunsOf(graph, tuple) : [],
    openTasks: tasks.filter(({ node }) => shown?.next.includes(node)),
    otherChannels: Object.keys(values).filter((name) => name !== MESSAGES && isOwnName(name)),
    otherGraph,
    mendsItself: mendsItself(Object.keys(opened.graph.nodes)),
    messagesChannel: isDeltaChannel(opened.graph.channels[MESSAGES]) ? "delta" : "full",
  };
}

type Own =
  | { readonly kind: "read"; readonly state: StateSnapshot }
  | { readonly kind: "failed"; readonly reason: string };

type Place = { readonly configurable: { readonly thread_id: string; readonly checkpoint_ns: string } };

/** What the thread's own graph shows, as any code of the user would read it. */
async function readOwn({ graph, saver }: OpenedGraph, place: Place): Promise<Own> {
  try {
    return { kind: "read", state: await readState(graph, saver, place) };
  } catch (error) {
    return { kind: "failed", reason: errorText(error) };
  }
}

async function readTolerantly(opened: OpenedGraph, place: Place): Promise<StateSnapshot | undefined> {
  try {
    return await readState(opened.graph, opened.saver, place, channelOf(opened));
  } catch {
    return undefined;
  }
}

function channelOf({ graph }: OpenedGraph): object {
  return tolerantChannel(graph.channels[MESSAGES] ?? {}, (history, writes) =>
    pairedMessagesDeltaReducer(history, writes),
  );
}

/** The list of a checkpoint, without the writes of its tasks. Undefined if it has none. */
async function listAt(
  opened: OpenedGraph,
  { checkpoint, config }: CheckpointTuple,
): Promise<readonly unknown[] | undefined> {
  const stored = unwrapped(checkpoint.channel_values[MESSAGES]);
  if (stored !== undefined) return Array.isArray(stored) ? stored : undefined;
  if (!isDeltaChannel(opened.graph.channels[MESSAGES])) return undefined;
  // The channel stores only what was added, so its value is made from earlier checkpoints. Its own reducer shows what
  // the user's code sees, even if that list is broken.
  for (const channel of [undefined, channelOf(opened)]) {
    try {
      const { values } = await readState(opened.graph, opened.saver, config, channel);
      const list: unknown = values[MESSAGES];
      if (Array.isArray(list)) return list;
    } catch {
      // The next channel does not throw for a removal of an unknown message.
    }
  }
  return undefined;
}

function contentOf(list: readonly unknown[] | undefined, own: Own | undefined): StoredMessages {
  if (own?.kind === "failed") return { kind: "bricked", reason: own.reason, messages: list };
  return list === undefined ? { kind: "none" } : { kind: "read", messages: list };
}

async function endedRunsOf(opened: OpenedGraph, tuple: CheckpointTuple) {
  const { saver } = opened;
  const hydrated = async (found: CheckpointTuple): Promise<CheckpointTuple> => {
    const list = await listAt(opened, found);
    const channel_values = { ...found.checkpoint.channel_values, [MESSAGES]: list ?? [] };
    return { ...found, checkpoint: { ...found.checkpoint, channel_values } };
  };
  return findEndedRuns(await hydrated(tuple), async (config) => {
    const found = await saver.getTuple(config);
    return found && hydrated(found);
  });
}

function statusOf(
  { graph }: OpenedGraph,
  tuple: CheckpointTuple,
  shown: StateSnapshot | undefined,
): ThreadStatus {
  if (waitingInterrupts(tuple).length > 0 || stopsBefore(graph, shown?.next ?? [])) return "interrupted";
  return hasFailedTask(tuple) ? "error" : "idle";
}

function openTask({ id, name, error, interrupts }: StateSnapshot["tasks"][number]): OpenTask {
  return {
    id,
    node: name,
    error: error === undefined || error === null ? undefined : errorText(error),
    interrupts,
  };
}
