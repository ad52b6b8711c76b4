/** The graph's channels, and what LangGraph does with them. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseChannel, BinaryOperatorAggregate, DeltaChannel, DeltaValue } from "@langchain/langgraph";
import { EphemeralValue } from "@langchain/langgraph/channels";
import { coerceMessage } from "../../history/read-messages.js";
import { type MessagesUpdate, messagesSchema } from "../../history/reducer/messages-schema.js";
import { pairedField, pairedMessagesReducer } from "../../history/reducer/paired-messages.js";
import { isResult } from "../../history/result.js";
import { safely } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { readChannels } from "./run-host.js";

/**
 * LangGraph's channel with a reducer, as a left fold over single updates. LangGraph's own channel throws if two updates
 * of a step replace its value, which loses the whole step's results. Here the later one replaces it.
 */
export class FoldChannel extends BinaryOperatorAggregate<unknown> {
  override fromCheckpoint(checkpoint?: unknown): this {
    const copy = new FoldChannel(this.operator, this.initialValueFactory);
    copy.value = super.fromCheckpoint(checkpoint).value;
    return copy as this;
  }

  override update(values: Parameters<BinaryOperatorAggregate<unknown>["update"]>[0]): boolean {
    for (const value of values) super.update([value]);
    return values.length > 0;
  }
}

/*
 * The history's delta channel.
 */

/** After this many updates a checkpoint holds the whole history again, so a reader never replays more of them. */
export const UPDATES_BETWEEN_SNAPSHOTS = 100;

/**
 * LangGraph's delta channel with `pairedMessagesReducer`. A checkpoint stores only what its step added.
 *
 * The savers for SQLite and PostgreSQL, up to 1.0.4 and 1.0.5 at least, do not keep the order in which parallel tasks are
 * applied, and a reader replays writes in the saver's order (https://github.com/langchain-ai/langgraphjs/pull/2544). The
 * reducer places results by their calls, so their order does not matter. If several tasks write other messages at once,
 * the run's checkpoints hold the whole history instead.
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

/** Whether more than one write of a step has a message that is not a result. */
function dependsOnOrder(values: readonly unknown[]): boolean {
  if (values.length < 2) return false;
  return values.filter((value) => [value].flat().some(isPlacedByOrder)).length > 1;
}

function isPlacedByOrder(value: unknown): boolean {
  const message = coerceMessage(value);
  return message === undefined || !isResult(message);
}

/**
 * Makes a graph's messages a delta channel. A zod schema cannot describe such a channel, so it is replaced in the
 * graph. Contract: call it after the last node was added, because LangGraph compares the channels of their inputs.
 */
export function withHistoryChannel<Graph extends object>(graph: Graph): Graph {
  const channels = Reflect.get(graph, "channels") as Record<string, BaseChannel>;
  channels["messages"] = new HistoryChannel() as BaseChannel;
  return graph;
}

/*
 * The history's reducer as a `DeltaChannel` uses it.
 */

/** LangGraph gives ids to plain message objects before it saves them, but only for a reducer with this mark. Not exported. */
const DELTA_MARK = Symbol.for("langgraph.messages_delta_reducer");

function withMark<Reducer extends object>(reducer: Reducer): Reducer {
  return Object.defineProperty(reducer, DELTA_MARK, { value: true });
}

/**
 * `pairedMessagesReducer` as a `DeltaChannel`'s batch reducer. `writes` are updates, in order. How they are split into
 * batches does not matter, because the reducer is a left fold and derives every missing id.
 */
export function pairedMessagesDeltaReducer(history: unknown, writes: readonly unknown[]): BaseMessage[] {
  return pairedMessagesReducer(history, writes.flat(1));
}

/** A field of the history over a `DeltaChannel`, with this reducer, which is `pairedMessagesDeltaReducer` or calls it. */
export function deltaField(
  reducer: typeof pairedMessagesDeltaReducer,
  inputSchema = pairedField.inputSchema,
): DeltaValue<BaseMessage[], MessagesUpdate> {
  return new DeltaValue(
    messagesSchema.default(() => []),
    { ...pairedField, inputSchema, reducer: withMark(reducer) },
  );
}

/**
 * `PairedMessagesValue` over a `DeltaChannel`, in place of LangGraph's `MessagesDeltaValue`: a checkpoint stores only
 * the messages that a step added.
 */
export const PairedMessagesDeltaValue: DeltaValue<BaseMessage[], MessagesUpdate> =
  deltaField(pairedMessagesDeltaReducer);

/*
 * Asks a running graph's channel what its reducer makes of a write.
 */

/** LangGraph's writer of channels. Only tasks have it. Not exported. */
const SEND = "__pregel_send";

/**
 * The value that a channel has after this write. It comes from the task itself, so it must change nothing. Undefined
 * outside a graph.
 */
export function probeChannel(
  config: Pick<RunnableConfig, "configurable">,
  name: string,
  write: unknown,
): unknown {
  const send: unknown = config.configurable?.[SEND];
  if (typeof send !== "function") return undefined;
  send([[name, write]]);
  const values = readChannels(config, [name], true);
  return isRecord(values) ? values[name] : undefined;
}

/**
 * Writes values to a channel from the task itself, in order, before what its node returns. False if the channel refuses
 * them, or if the graph has no such channel: then nothing is written. LangGraph's own channel takes one value a step.
 */
export function writeChannel(
  config: Pick<RunnableConfig, "configurable">,
  name: string,
  values: readonly unknown[],
): boolean {
  return sendAndRead(config, name, values, false);
}

/** Whether a channel combines its value with what is written to it. It takes several values in a step. */
export function isReducedChannel(config: Pick<RunnableConfig, "configurable">, name: string): boolean {
  const current = Object(readChannels(config, [name]))[name];
  // The second value comes after one that replaces all, so it does not reach the user's reducer.
  return sendAndRead(config, name, [{ [OVERWRITE]: current }, current], true);
}

/** Whether the channel has a value after these writes. They are taken back if not, or if this is a probe. */
function sendAndRead(
  config: Pick<RunnableConfig, "configurable">,
  name: string,
  values: readonly unknown[],
  isProbe: boolean,
): boolean {
  const send: unknown = config.configurable?.[SEND];
  if (typeof send !== "function") return false;
  const writes = values.map((value): [string, unknown] => [name, value]);
  send(writes);
  const isTaken = safely(() => Object.hasOwn(Object(readChannels(config, [name], true)), name), false);
  // LangGraph keeps these pairs until the task ends. An empty write to the messages changes nothing.
  if (isProbe || !isTaken) for (const write of writes) write.splice(0, 2, "messages", []);
  return isTaken;
}

/** The key that marks a write that replaces its channel's value. In JSON it can be the write's type. */
export const OVERWRITE = "__overwrite__";

/** The value of such a write. */
export function overwriteIn(write: unknown): { readonly value: unknown } | undefined {
  if (!isRecord(write)) return undefined;
  if (Object.hasOwn(write, OVERWRITE)) return { value: write[OVERWRITE] };
  return write["type"] === OVERWRITE && "value" in write ? { value: write["value"] } : undefined;
}

/**
 * Makes a channel hold its value only until the next superstep. That includes the superstep in which new input enters
 * the state, so a run's value is gone once its thread has a new message. No node must clear it, and no cancelled run
 * leaves it behind.
 *
 * A zod schema cannot describe such a channel, so it is replaced in the graph before it is compiled.
 */
export function withValueUntilNextStep<Graph extends object>(graph: Graph, name: string): Graph {
  const channels = Reflect.get(graph, "channels") as Record<string, BaseChannel>;
  channels[name] = new EphemeralValue<unknown>(false);
  return graph;
}
