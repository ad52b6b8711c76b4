/** What runs that ended early have left in the checkpoints of a thread. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { unansweredCalls } from "../../history/calls/open-calls.js";
import { callIdOf, isMadeUpResult, isPlaceholder, isResult } from "../../history/messages/result.js";
import { callsOf } from "../../history/messages/call.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { isBeforeModel } from "../../langgraph/checkpoints/saved-checkpoints.js";
import type { ThreadView } from "../../langgraph/thread-view.js";
import { findLeftovers } from "../../nodes/recovery/leftovers.js";
import type { EndedRun } from "../stored-thread.js";

/** How many checkpoints are read at most for calls without a result. A turn has about five. */
const CHECKPOINTS_TO_READ = 200;

export interface EndedRunsInput {
  /** The latest checkpoint. */
  readonly head: CheckpointTuple;
  readonly saver: BaseCheckpointSaver;
  readonly view: ThreadView;
  readonly threadId: string;
  /** The list that the thread has now. */
  readonly messages: readonly unknown[];
}

/**
 * The ended runs, the oldest first. It reads the checkpoints before the latest one only if a run has ended early there,
 * or if a call without a result may have one there.
 */
export async function findEndedRuns({ head, saver, view, messages }: EndedRunsInput): Promise<readonly EndedRun[]> {
  const wanted = headsToComplete(messages.flatMap((value) => coerceMessage(value) ?? []));
  /** A delta channel stores no list with the checkpoint. */
  const withList = async (tuple: CheckpointTuple | undefined): Promise<CheckpointTuple | undefined> => {
    if (tuple === undefined || view.messagesChannel !== "delta") return tuple;
    const { values } = await view.readLeniently(tuple.config);
    const list: unknown = Object(values)["messages"];
    const channel_values = { ...tuple.checkpoint.channel_values, messages: list };
    return { ...tuple, checkpoint: { ...tuple.checkpoint, channel_values } };
  };
  const read = async (place: RunnableConfig) => withList(await saver.getTuple(place));
  const found = await findLeftovers(
    {
      input: {},
      checkpoints: {
        abandoned: wanted.size > 0 || mayLeadFurther(head) ? await withList(head) : head,
        isFork: false,
        saved: undefined,
        read,
        readBefore: undefined,
      },
      ownState: { keys: otherChannelsOf(head) },
    },
    (checkpoint) => isBeforeModel(checkpoint) || knowsOneOf(checkpoint, wanted),
    CHECKPOINTS_TO_READ,
  ).catch(() => []);
  return found
    .filter(({ written, values }) => written.length + values.length > 0)
    .map(({ checkpointId, history, written, values }) => ({
      checkpointId,
      fate: checkpointId === head.checkpoint.id ? ("pending" as const) : ("discarded" as const),
      knownMessageIds: history.flatMap(({ id }) => id ?? []),
      written,
      otherChannels: [...new Set(values.map(([name]) => name))],
    }));
}

/** The ids of the messages with a call that has no result, or only one that stands for it. */
function headsToComplete(messages: readonly BaseMessage[]): ReadonlySet<string> {
  const { dangling, pending } = unansweredCalls(messages);
  const placeholders = new Set(
    messages.filter((message) => isPlaceholder(message) || isMadeUpResult(message)).filter(isResult).map(callIdOf),
  );
  const heads = [
    ...[...dangling, ...pending].map(({ group }) => group.head),
    ...messages.filter((message) => callsOf(message).some(({ id }) => placeholders.has(id ?? ""))),
  ];
  return new Set(heads.flatMap(({ id }) => id ?? []));
}

function mayLeadFurther(head: CheckpointTuple): boolean {
  return (head.pendingWrites?.length ?? 0) > 0 || isBeforeModel(head) || head.metadata?.source !== "loop";
}

function knowsOneOf({ checkpoint }: CheckpointTuple, ids: ReadonlySet<string>): boolean {
  const list: unknown = checkpoint.channel_values["messages"];
  return ids.size > 0 && Array.isArray(list) && list.some((message) => ids.has(Object(message).id));
}

/** A name that has a colon belongs to LangGraph. */
function otherChannelsOf({ pendingWrites = [], checkpoint }: CheckpointTuple): string[] {
  const names = [...Object.keys(checkpoint.channel_values), ...pendingWrites.map(([, name]) => name)];
  return [...new Set(names)].filter((name) => name !== "messages" && !/[:_]{2}|:/.test(name));
}
