/** The delta channel of the history. */

import type { BaseMessage } from "@langchain/core/messages";
import { type BaseChannel, DeltaChannel } from "@langchain/langgraph";
import { isResult } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { pairedMessagesDeltaReducer } from "./paired-messages-delta.js";

/** After this many updates a checkpoint holds the whole history again, so a reader never replays more of them. */
export const UPDATES_BETWEEN_SNAPSHOTS = 100;

/**
 * LangGraph's delta channel with `pairedMessagesReducer`. A checkpoint stores only what its step added.
 *
 * The savers for SQLite and PostgreSQL do not keep the order in which parallel tasks are applied, and a reader replays
 * their writes in the order of the saver. The reducer places results by their calls, so their order makes no
 * difference. If other messages come from several tasks at once, the run's checkpoints hold the whole history instead.
 */
export class HistoryChannel extends DeltaChannel<BaseMessage[], unknown> {
  constructor() {
    super(pairedMessagesDeltaReducer, { snapshotFrequency: UPDATES_BETWEEN_SNAPSHOTS });
  }

  override fromCheckpoint(stored?: Parameters<DeltaChannel["fromCheckpoint"]>[0]): this {
    const copy = new HistoryChannel();
    copy.value = super.fromCheckpoint(stored as never).value;
    return copy as this;
  }

  override update(values: unknown[]): boolean {
    if (dependsOnOrder(values)) this.snapshotFrequency = 1;
    return super.update(values);
  }
}

/** Whether more than one of the writes of a step has a message that is not a result. */
function dependsOnOrder(values: readonly unknown[]): boolean {
  if (values.length < 2) return false;
  return values.filter((value) => [value].flat().some(isPlacedByOrder)).length > 1;
}

function isPlacedByOrder(value: unknown): boolean {
  const message = coerceMessage(value);
  return message === undefined || !isResult(message);
}

/**
 * Makes the messages of a graph a delta channel. A zod schema cannot describe such a channel, so it is replaced in the
 * graph. Contract: call it after the last node was added, because LangGraph compares the channels of their inputs.
 */
export function withHistoryChannel<Graph extends object>(graph: Graph): Graph {
  const channels = Reflect.get(graph, "channels") as Record<string, BaseChannel>;
  channels["messages"] = new HistoryChannel() as BaseChannel;
  return graph;
}
