/**
 * The view of a checkpointer through which runs read and write: the same bytes, and what is read is the same, in less
 * time. The checkpointer itself is not changed.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import { BaseCheckpointSaver, type CheckpointTuple } from "@langchain/langgraph";
import { safely } from "../../shared/json.js";
import { hasMethods, madeOnce, prototypeWith } from "../../shared/values.js";
import { liveView, viewOf } from "../../shared/views.js";
import { replaceMethods } from "../langgraph/replace-methods.js";
import { type MessageSerializer, messageSerializer } from "../serializer/message-serializer.js";

/**
 * Makes the view, for one run or one read of a thread. One that has a serializer of its own keeps it. A checkpointer
 * with private fields is returned as it is, because only the object itself can read those.
 */
export function quickSaver(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  if (hasPrivateFields(saver.constructor)) return saver;
  const replaced: Partial<BaseCheckpointSaver> = {};
  const view = liveView(saver, replaced);
  if (hasStockSerializer(saver))
    replaced.serde = madeOnce(serializers, saver.serde, () => messageSerializer(saver.serde));
  // `MemorySaver` walks to the beginning of the thread. The walk that others inherit ends at the stored value.
  if (hasWalkOfMemory(saver))
    replaced.getDeltaChannelHistory = BaseCheckpointSaver.prototype.getDeltaChannelHistory;
  const pool: unknown = Reflect.get(saver, "pool");
  if (isPool(pool)) Object.assign(replaced, { pool: quickPool(pool) }, readPages(view));
  return view;
}

const classesWithPrivateFields = new WeakMap<object, boolean>();

/** Read from the sources of its classes: a `#name`, or the helpers that TypeScript, esbuild, Babel and SWC make of it. */
function hasPrivateFields(made: unknown): boolean {
  if (typeof made !== "function") return false;
  const isKnown = classesWithPrivateFields.get(made);
  if (isKnown !== undefined) return isKnown;
  const source = Function.prototype.toString.call(made);
  const has =
    /#[\w$]|__private|class_?private/i.test(source) || hasPrivateFields(Object.getPrototypeOf(made));
  classesWithPrivateFields.set(made, has);
  return has;
}

/** By the name of its class, which is not exported, and of which a server has a copy of its own. */
function hasStockSerializer({ serde }: BaseCheckpointSaver): boolean {
  const isStock = Object(serde).constructor?.name === "JsonPlusSerializer";
  return isStock && !Object.hasOwn(serde, "dumpsTyped") && !Object.hasOwn(serde, "loadsTyped");
}

/** By the name of its class too. A checkpointer can also have a walk of its own. */
function hasWalkOfMemory(saver: BaseCheckpointSaver): boolean {
  const owner = prototypeWith(saver, "getDeltaChannelHistory");
  if (owner?.constructor.name !== "MemorySaver") return false;
  return saver.getDeltaChannelHistory === owner.getDeltaChannelHistory;
}

const serializers = new WeakMap<object, MessageSerializer>();

/*
 * Reads the ancestors of a checkpoint in pages.
 */

/** How many checkpoints are read at once. A turn with one tool call has five. */
const PAGE_SIZE = 25;

/**
 * LangGraph rebuilds the history of a delta channel from up to some hundred checkpoints, and gets each of them with
 * `getTuple`: a query of the database. Here `list` gets those before a checkpoint with one query, and `getTuple` is
 * answered from them. The checkpoint from which the walk starts was read just before, so it is not read again.
 */
function readPages(saver: BaseCheckpointSaver): Partial<BaseCheckpointSaver> {
  const { getTuple, list, getDeltaChannelHistory } = saver;
  let latest: CheckpointTuple | undefined;
  const read: BaseCheckpointSaver["getTuple"] = async (config) => {
    latest = await Reflect.apply(getTuple, saver, [config]);
    return latest;
  };
  const readPage = (before: RunnableConfig): AsyncGenerator<CheckpointTuple> => {
    const { checkpoint_id: _, ...configurable } = { ...before.configurable };
    return Reflect.apply(list, saver, [{ configurable }, { before, limit: PAGE_SIZE }]);
  };
  const readAncestors = (): BaseCheckpointSaver["getTuple"] => {
    let child: RunnableConfig | undefined;
    let page: AsyncGenerator<CheckpointTuple> | undefined;
    return async (config) => {
      const [before, id] = [child, idOf(config)];
      child = config;
      if (before === undefined) return latest && idOf(latest.config) === id ? latest : read(config);
      let found = page && (await findIn(page, id));
      if (found === undefined) {
        page = readPage(before);
        found = await findIn(page, id);
      }
      // One of another branch can be far away. Not every checkpointer lists the writes.
      return found?.pendingWrites === undefined ? Reflect.apply(getTuple, saver, [config]) : found;
    };
  };
  return {
    getTuple: read,
    async *list(...given) {
      for await (const tuple of Reflect.apply(list, saver, given) as ReturnType<typeof list>) {
        latest = tuple;
        yield tuple;
      }
    },
    // Savers that are older than the delta channel do not have it.
    ...(typeof getDeltaChannelHistory === "function" && {
      getDeltaChannelHistory: (options) => {
        const walker = viewOf(saver, { getTuple: readAncestors() });
        return Reflect.apply(getDeltaChannelHistory, walker, [options]);
      },
    }),
  };
}

/** Reads on to this checkpoint. Those between belong to other branches of the thread. */
async function findIn(
  page: AsyncGenerator<CheckpointTuple>,
  id: unknown,
): Promise<CheckpointTuple | undefined> {
  for (;;) {
    const { value, done } = await page.next();
    if (done || idOf(value.config) === id) return value;
  }
}

function idOf({ configurable }: RunnableConfig): unknown {
  return configurable?.["checkpoint_id"];
}

/*
 * Reads what PostgreSQL sends.
 */

interface PostgresClient {
  query(query: object): Promise<unknown>;
  getTypeParser(type: number, format?: string): (text: string) => unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  off(event: "error", listener: (error: unknown) => void): unknown;
  release(error?: unknown): void;
}

/** What is used of a pool of node-postgres. */
interface PostgresPool {
  connect(): Promise<PostgresClient>;
  query(text: string, values: readonly unknown[]): Promise<unknown>;
}

function isPool(value: unknown): value is PostgresPool {
  return hasMethods(value, "connect", "query");
}

/** PostgreSQL's number for the type `bytea[]`. `PostgresSaver` gets all values and writes of a checkpoint as one. */
const BYTES_ARRAY = 1001;

/**
 * A view of a pool that reads lists of bytes quickly. node-postgres makes an object for each of their characters, which
 * takes most of the time in which a long thread is read.
 */
function quickPool(pool: PostgresPool): PostgresPool {
  const query: PostgresPool["query"] = async (text, values) => {
    const client = await pool.connect();
    let failure: unknown;
    // The pool listens only to clients that are not in use, and an error without a listener ends the process.
    const note = (error: unknown): void => {
      failure = error;
    };
    client.on("error", note);
    const getTypeParser: PostgresClient["getTypeParser"] = (type, format) => {
      const parse = client.getTypeParser(type, format);
      return type === BYTES_ARRAY && format === "text" ? (list) => bytesIn(list) ?? parse(list) : parse;
    };
    try {
      return await client.query({ text, values, types: { getTypeParser } });
    } catch (error) {
      note(error);
      throw error;
    } finally {
      client.off("error", note);
      client.release(failure);
    }
  };
  return replaceMethods(pool, { query });
}

/**
 * The bytes in a list such as `{{"\\x00ff",NULL}}`. It has no character of JSON's syntax inside its texts, as long as all
 * of them are hexadecimal. Undefined for one that is not.
 */
function bytesIn(list: string): unknown {
  const json = list.replaceAll("{", "[").replaceAll("}", "]").replaceAll("NULL", "null");
  return safely(() => JSON.parse(json, (_, part) => (typeof part === "string" ? bytesOf(part) : part)));
}

function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text.slice(2), "hex");
  if (!text.startsWith("\\x") || bytes.length * 2 !== text.length - 2)
    throw new TypeError("Expected hexadecimal digits.");
  return bytes;
}
