/**
 * The view of a checkpointer that a run gets: it keeps what the run began on, and stops writing when the run has ended.
 */

import { randomInt } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { safely } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import { nodesToEnter, readDelta, saveResumeValue } from "./langgraph/read-checkpoints.js";
import { isSaver, replaceMethods } from "./langgraph/replace-methods.js";
import { inheritedCheckpointer } from "./langgraph/run-host.js";

/** What a run can know about its thread besides the state. */
export interface WatchedCheckpoints {
  /** The checkpoint that the run began on, with the writes of tasks of an unfinished run. */
  abandoned: CheckpointTuple | undefined;
  /** Whether the thread had gone on after `abandoned`, so that the run began another branch of it. */
  isFork: boolean;
  /** The values in the latest checkpoint that this run has saved. */
  saved: Readonly<Record<string, unknown>> | undefined;
  /** Reads a checkpoint of the run's thread. Undefined for a run without a checkpointer. */
  readonly read: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
  /** The checkpoint that was saved last before this one, in any branch of the thread. */
  readonly readBefore: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
  /** The superstep of the latest checkpoint of this run that is saved, or that it began on. */
  savedStep: number | undefined;
  /** Whether the run saves each checkpoint when it is made, and not only the last one when it ends. */
  savesAtOnce: boolean;
  /**
   * Resolves when the checkpoint before this superstep is saved, to a function that adds a write to it. Undefined if the
   * run has no such checkpoint before it ends.
   *
   * @throws Why the checkpoint is not saved.
   */
  whenSent: (step: number) => Promise<WriteBeside | undefined>;
  /** Reads the history of a checkpoint that does not hold it, because its `messages` were a delta channel. */
  readonly readDelta?: (config: RunnableConfig) => Promise<unknown>;
}

/** Contract: resolves when the write is saved under the id of a task, which need not exist. */
type WriteBeside = (task: string, channel: string, value: unknown) => Promise<void>;

export interface WatchedCheckpointer {
  /**
   * Call it before each run. The next checkpoint that is read becomes `abandoned`.
   *
   * @param isSavedAtExit Whether the run is saved only when it ends.
   * @param resumeValue A value that the run is resumed with. It is saved with that checkpoint if the run is not.
   */
  readonly restart: (isSavedAtExit: boolean, resumeValue?: unknown) => void;
  /** Reads a checkpoint before the run does. The run that is begun next gets the same one. */
  readonly peek: (config: RunnableConfig) => Promise<CheckpointTuple | undefined>;
  readonly checkpoints: WatchedCheckpoints;
  /**
   * Contract: call it when the run has ended. It resolves when all writes have ended that were begun, and no other one
   * begins. LangGraph waits for those of a run, but not for those of its subgraphs when it is aborted, and not for the
   * others when one has failed.
   */
  readonly saved: () => Promise<void>;
  /** Use it in place of the original checkpointer. Undefined if there is none. */
  readonly checkpointer: BaseCheckpointSaver | undefined;
}

/**
 * Remembers the first checkpoint that a run reads, because an earlier run may have left it unfinished, and the last one
 * that it has saved.
 */
export function watchCheckpointer(saver: BaseCheckpointSaver | undefined): WatchedCheckpointer {
  const checkpoints = checkpointsOf(saver);
  if (saver === undefined)
    return {
      checkpoints,
      checkpointer: undefined,
      restart: () => {},
      peek: async () => undefined,
      saved: async () => {},
    };
  let isFirst = true;
  let toSave: unknown;
  /** Why nothing more is saved. */
  let isClosed: { readonly reason: unknown } | undefined;
  /** The last checkpoint of the run's own graph that is saved, and who waits for a later one. */
  let latest: { readonly step: number; readonly config: RunnableConfig } | undefined;
  const waiting: (() => void)[] = [];
  const setLatest = (step: number, config: RunnableConfig): void => {
    latest = { step, config };
    checkpoints.savedStep = step;
  };
  const wake = (): void => {
    for (const lookAgain of waiting.splice(0)) lookAgain();
  };
  const close = (reason: unknown): void => {
    isClosed ??= { reason };
    wake();
  };
  const restart = (isSavedAtExit: boolean, resumeValue?: unknown): void => {
    isClosed = undefined;
    isFirst = true;
    latest = undefined;
    checkpoints.savesAtOnce = !isSavedAtExit;
    toSave = isSavedAtExit ? resumeValue : undefined;
  };
  checkpoints.whenSent = async (step) => {
    while (latest === undefined || latest.step < step - 1) {
      if (isClosed !== undefined) throw isClosed.reason;
      if (!checkpoints.savesAtOnce) return undefined;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    const { config } = latest;
    return (task, channel, value) => save(() => saver.putWrites(config, [[channel, value]], task));
  };
  let peeked: ReturnType<BaseCheckpointSaver["getTuple"]> | undefined;
  const peek: WatchedCheckpointer["peek"] = (config) => {
    peeked = saver.getTuple(config);
    return peeked;
  };
  const getTuple: BaseCheckpointSaver["getTuple"] = async (config) => {
    const remembers = isFirst;
    isFirst = false;
    const tuple = await ((remembers && peeked) || saver.getTuple(config));
    if (remembers) peeked = undefined;
    if (!remembers) return tuple;
    checkpoints.abandoned = tuple;
    if (tuple !== undefined) setLatest(tuple.metadata?.step ?? -2, tuple.config);
    checkpoints.isFork = await isSuperseded(saver, config, tuple);
    if (tuple !== undefined && toSave !== undefined && !checkpoints.isFork)
      await saveResumeValue(saver, tuple, toSave);
    return tuple;
  };
  const pending = new Set<Promise<unknown>>();
  // LangGraph saves one checkpoint after the other. If one is not saved, what follows would continue nothing.
  const save = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    if (isClosed !== undefined) throw isClosed.reason;
    const writing = write();
    pending.add(writing);
    try {
      return await writing;
    } catch (reason) {
      close(reason);
      throw reason;
    } finally {
      pending.delete(writing);
    }
  };
  const put: BaseCheckpointSaver["put"] = async (...given) => {
    const [before, checkpoint, metadata] = given;
    const config = await save(() => saver.put(...given));
    checkpoints.saved = checkpoint.channel_values;
    // Subgraphs save their checkpoints too.
    if (!before.configurable?.["checkpoint_ns"]) {
      setLatest(metadata.step, config);
      wake();
    }
    return config;
  };
  const putWrites: BaseCheckpointSaver["putWrites"] = (...given) => save(() => saver.putWrites(...given));
  const saved = async (): Promise<void> => {
    close(new Error("The run has ended, so nothing more of it is saved."));
    while (pending.size > 0) await Promise.allSettled(pending);
  };
  const checkpointer = replaceMethods(saver, { getTuple, put, putWrites });
  return { checkpoints, checkpointer, restart, peek, saved };
}

export function checkpointsOf(
  saver: BaseCheckpointSaver | undefined,
  abandoned?: CheckpointTuple,
): WatchedCheckpoints {
  return {
    abandoned,
    isFork: false,
    saved: undefined,
    savedStep: undefined,
    savesAtOnce: false,
    whenSent: async () => undefined,
    read: saver && ((config) => saver.getTuple(config)),
    readBefore: saver && ((config) => readBefore(saver, config)),
    readDelta: async (config) => saver && readDelta(saver, config),
  };
}

/** A client can name the thread's latest checkpoint too. */
async function isSuperseded(
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  tuple: CheckpointTuple | undefined,
): Promise<boolean> {
  const { checkpoint_id, ...configurable } = { ...config.configurable };
  if (checkpoint_id === undefined || !tuple?.pendingWrites?.length) return false;
  const latest = await saver.getTuple({ ...config, configurable });
  return latest?.checkpoint.id !== tuple.checkpoint.id;
}

/** The checkpoint that was saved last before this one, in any branch of the thread. */
async function readBefore(
  saver: Pick<BaseCheckpointSaver, "list">,
  before: RunnableConfig,
): Promise<CheckpointTuple | undefined> {
  const { checkpoint_id: _, ...configurable } = { ...before.configurable };
  for await (const tuple of saver.list({ configurable }, { before, limit: 1 })) return tuple;
  return undefined;
}

/** A fraction has this many values. A double can hold one beside the number of two million supersteps. */
const FRACTIONS = 2 ** 32;

/**
 * A view of a checkpointer that numbers the versions of channels so that two runs never use the same number: 3.42
 * instead of 3.
 *
 * A saver can store the value of a channel under its version, and keep the first value of each version, as
 * `PostgresSaver` does. If two runs start from the same checkpoint, and both number their versions 4, 5, 6, each of
 * them reads what the other one wrote. That happens after a fork, after an edit of the past, with two processes, and
 * if the last write of a killed process arrives late.
 *
 * The numbers of a thread still grow, so threads with plain numbers continue. Versions that are not numbers stay as
 * the checkpointer makes them.
 */
export function withUniqueVersions(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  const fraction = randomInt(1, FRACTIONS) / FRACTIONS;
  const getNextVersion: BaseCheckpointSaver["getNextVersion"] = (current) => {
    const next: unknown = saver.getNextVersion(typeof current === "number" ? Math.floor(current) : current);
    return (Number.isInteger(next) ? Number(next) + fraction : next) as number;
  };
  return replaceMethods(saver, { getNextVersion });
}

/*
 * Reads a thread so that what is not changed is written back byte for byte, and so that one message that cannot be read
 * does not hide the others.
 */

type Serializer = BaseCheckpointSaver["serde"];

/**
 * A view of a checkpointer for reading. Each message that it reads has its stored JSON as its `toJSON`, so a message
 * that is written again has the same bytes. A value that LangChain refuses to read is given as it is stored.
 *
 * The serializer of a checkpointer is a field, so the view inherits from the checkpointer. A class with private fields
 * does not allow that, and is read in its own way.
 */
export function pinMessages(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  const pinned: BaseCheckpointSaver = Object.create(saver, {
    serde: { value: pinningSerializer(saver.serde) },
  });
  const withFallback = (name: "getTuple" | "getDeltaChannelHistory") => ({
    [name]: async (...given: unknown[]): Promise<unknown> => {
      try {
        return await Reflect.apply(pinned[name], pinned, given);
      } catch {
        return Reflect.apply(saver[name], saver, given);
      }
    },
  });
  // Savers that are older than the delta channel do not have the second one.
  const hasDelta = typeof saver.getDeltaChannelHistory === "function";
  return replaceMethods(saver, {
    ...withFallback("getTuple"),
    ...(hasDelta && withFallback("getDeltaChannelHistory")),
  });
}

function pinningSerializer(serde: Serializer): Serializer {
  return {
    dumpsTyped: (value) => serde.dumpsTyped(value),
    loadsTyped: async (type, data) => {
      const stored = parsed(data);
      try {
        const value: unknown = await serde.loadsTyped(type, data);
        if (stored !== undefined) pinAll(stored.value, value);
        return value;
      } catch (error) {
        if (type !== "json" || stored === undefined) throw error;
        return readPieces(stored.value, serde);
      }
    },
  };
}

/** Undefined for what is not JSON, such as an encrypted value. */
function parsed(data: Uint8Array | string): { readonly value: unknown } | undefined {
  const text = (): string => (typeof data === "string" ? data : new TextDecoder().decode(data));
  return safely(() => ({ value: JSON.parse(text()) }), undefined);
}

function isSerialized(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && value["lc"] === 1 && value["type"] === "constructor";
}

function pinAll(stored: unknown, value: unknown): void {
  if (typeof stored !== "object" || stored === null || typeof value !== "object" || value === null) return;
  if (isSerialized(stored)) {
    pinJson(value, stored);
    return;
  }
  for (const [key, part] of Object.entries(stored)) pinAll(part, Reflect.get(value, key));
}

/** Makes this the JSON of the object. It is stored in place of its fields. */
export function pinJson<Value extends object>(value: Value, json: unknown): Value {
  Object.defineProperty(value, "toJSON", { value: () => json, configurable: true, enumerable: false });
  return value;
}

/** Reads each serialized object for itself. One that cannot be read stays as it is stored. */
async function readPieces(stored: unknown, serde: Serializer): Promise<unknown> {
  if (Array.isArray(stored)) return Promise.all(stored.map((part) => readPieces(part, serde)));
  if (!isRecord(stored)) return stored;
  if (isSerialized(stored) || stored["lc"] === 2) {
    try {
      const value: unknown = await serde.loadsTyped("json", JSON.stringify(stored));
      return isSerialized(stored) && isRecord(value) ? pinJson(value, stored) : value;
    } catch {
      return stored;
    }
  }
  const parts = await Promise.all(
    Object.entries(stored).map(async ([key, part]) => [key, await readPieces(part, serde)]),
  );
  return Object.fromEntries(parts);
}

/*
 * What a task can read of its thread's checkpoints, through the saver of its run.
 */

/** Between the namespaces of a graph and of a subgraph. Not exported. */
const SUBGRAPH = "|";

/** The nodes of LangChain's agents before the model is asked. A run that waits for one has run no tool. */
const BEFORE_MODEL = /^(?:.*\.before_(?:agent|model)|model_request)$/;

/**
 * The latest checkpoint of the task's graph that has been saved, as the one that the run began on. It can also be one of
 * the run itself: LangGraph saves in the background. Undefined without a saver, and for a subgraph without a memory of its
 * own: the id of a task in its namespace says that its checkpoints are those of one call.
 */
export async function savedCheckpoints(config: RunnableConfig): Promise<WatchedCheckpoints | undefined> {
  const { thread_id, checkpoint_ns: taskNamespace } = { ...config.configurable };
  const saver = inheritedCheckpointer(config);
  const checkpoint_ns = String(taskNamespace ?? "")
    .split(SUBGRAPH)
    .slice(0, -1)
    .join(SUBGRAPH);
  if (!isSaver(saver) || thread_id === undefined || checkpoint_ns.includes(":")) return undefined;
  return checkpointsOf(saver, await saver.getTuple({ configurable: { thread_id, checkpoint_ns } }));
}

/** Whether the run of a checkpoint had not asked the model yet. */
export function isBeforeModel(tuple: CheckpointTuple): boolean {
  return nodesToEnter(tuple).some((name) => BEFORE_MODEL.test(name));
}
