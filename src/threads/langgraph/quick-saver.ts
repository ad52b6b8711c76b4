/**
 * A view of a checkpointer for runs: it reads and writes the same, in less time. The checkpointer itself does not
 * change.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import { BaseCheckpointSaver, type CheckpointTuple } from "@langchain/langgraph";
import { safely } from "../../shared/json.js";
import { hasMethods, madeOnce, prototypeWith } from "../../shared/values.js";
import { liveView, viewOf } from "../../shared/views.js";
import { type MessageSerializer, messageSerializer } from "../serializer/message-serializer.js";
import { replaceMethods } from "./replace-methods.js";
import { latestOf } from "./run-host.js";

/**
 * Makes the view, for one run or one read of a thread. A custom serializer stays. A checkpointer with private fields is
 * returned as it is, because only the object itself can read them.
 */
export function quickSaver(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  if (hasPrivateFields(saver.constructor)) return saver;
  const replaced: Partial<BaseCheckpointSaver> = {};
  const view = liveView(saver, replaced);
  if (hasStockSerializer(saver))
    replaced.serde = madeOnce(serializers, saver.serde, () => messageSerializer(saver.serde));
  // `MemorySaver` walks to the thread's beginning. The inherited walk ends at the stored value.
  if (hasWalkOfMemory(saver))
    replaced.getDeltaChannelHistory = BaseCheckpointSaver.prototype.getDeltaChannelHistory;
  const pool: unknown = Reflect.get(saver, "pool");
  if (isPool(pool)) Object.assign(replaced, { pool: quickPool(pool) }, readPages(view));
  return view;
}

const classesWithPrivateFields = new WeakMap<object, boolean>();

/**
 * Found in the sources of its classes: a `#name`, or the helpers that TypeScript, esbuild, Babel and SWC turn it into.
 */
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

/** By class name, because the class is not exported and a server has its own copy. */
function hasStockSerializer({ serde }: BaseCheckpointSaver): boolean {
  const isStock = Object(serde).constructor?.name === "JsonPlusSerializer";
  return isStock && !Object.hasOwn(serde, "dumpsTyped") && !Object.hasOwn(serde, "loadsTyped");
}

/** Also by class name. A checkpointer can have its own walk. */
function hasWalkOfMemory(saver: BaseCheckpointSaver): boolean {
  const owner = prototypeWith(saver, "getDeltaChannelHistory");
  if (owner?.constructor.name !== "MemorySaver") return false;
  return saver.getDeltaChannelHistory === owner.getDeltaChannelHistory;
}

const serializers = new WeakMap<object, MessageSerializer>();

/*
 * Reads a checkpoint's ancestors in pages.
 */

/** How many checkpoints one query reads. A turn with one tool call has five. */
const PAGE_SIZE = 25;

/**
 * LangGraph rebuilds a delta channel's history from up to a few hundred checkpoints, and gets each with `getTuple`: one
 * database query. Here `list` gets a page of them with one query, and `getTuple` answers from it. The walk's first
 * checkpoint was just read, so it is not read again.
 */
function readPages(saver: BaseCheckpointSaver): Partial<BaseCheckpointSaver> {
  const { getTuple, list, getDeltaChannelHistory } = saver;
  let latest: CheckpointTuple | undefined;
  const read: BaseCheckpointSaver["getTuple"] = async (config) => {
    latest = await Reflect.apply(getTuple, saver, [config]);
    return latest;
  };
  const readPage = (before: RunnableConfig): AsyncGenerator<CheckpointTuple> =>
    Reflect.apply(list, saver, [latestOf(before), { before, limit: PAGE_SIZE }]);
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
      // A checkpoint in another branch can be far away. Not every checkpointer lists the writes.
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
    // Savers older than the delta channel do not have it.
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

/** The parts of a node-postgres pool that are used. */
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
 * takes most of a long thread's reading time.
 */
function quickPool(pool: PostgresPool): PostgresPool {
  const query: PostgresPool["query"] = async (text, values) => {
    const client = await pool.connect();
    let failure: unknown;
    // The pool listens only to idle clients, and an error without a listener ends the process.
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
 * The bytes in a list such as `{{"\\x00ff",NULL}}`. If all its texts are hexadecimal, they contain no JSON syntax.
 * Undefined for any other list.
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
