import { setTimeout as delay } from "node:timers/promises";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { ThreadConflictError } from "../errors.js";
import { hasMethods, isRecord } from "../shared/values.js";
import { answered } from "../shared/waiting.js";
import { belongsToNextRun, timeOfCheckpoint } from "./langgraph/read-checkpoints.js";
import { replaceMethods } from "./langgraph/replace-methods.js";
import { lockKey } from "./thread-lock.js";

interface GuardedThread extends HeadOf {
  /** The ids of the messages that the run brings, as far as they are known by now. */
  readonly messageIds: () => readonly string[];
}

interface GuardedSaver {
  readonly saver: BaseCheckpointSaver;
  /**
   * Contract: call it when the run has ended without an error.
   *
   * @throws ThreadConflictError if another writer has replaced the last checkpoint of the run.
   */
  readonly assertKept: () => Promise<void>;
}

type PutWrites = Parameters<BaseCheckpointSaver["putWrites"]>;

/** A clock can be behind that of another machine by this time, in milliseconds. A run waits for it. */
const LONGEST_CLOCK_WAIT = 10_000;

/**
 * A view of a checkpointer for one run of a thread. It saves a checkpoint only if the latest one is still the one that
 * the run has read or written last. Otherwise another process has written to the thread, and the two would continue as
 * two branches, of which the thread shows only one.
 *
 * A run from an older checkpoint makes a new branch on purpose. The check then begins with the latest checkpoint too.
 *
 * @throws ThreadConflictError from each write after another writer has moved the thread on.
 */
export function guardHead(thread: GuardedThread): GuardedSaver {
  const { saver, signal } = thread;
  const latest = threadHead(thread);
  /** The latest checkpoint as this run knows it; undefined before the run has read it. */
  let head: { readonly id: string | undefined; readonly isOwn: boolean } | undefined;
  let conflict: ThreadConflictError | undefined;
  /** Whether a task's writes at the checkpoint that the run began on are those of this run. */
  let isFromThisRun: (task: string) => boolean = () => false;
  /** Such writes. They are saved together with the checkpoint that follows, or not at all. */
  let held: PutWrites[] = [];

  const fail = async (): Promise<never> => {
    // A run without messages, such as one with the input `null`, has all of its input where it began.
    const hasInput = head?.isOwn || thread.messageIds().length === 0;
    conflict ??= await movedOn(thread, hasInput ? head?.id : undefined);
    throw conflict;
  };
  const isAtStart: (config: PutWrites[0]) => boolean = (config) =>
    isRoot(config) && head?.isOwn === false && head.id === config.configurable?.["checkpoint_id"];

  return {
    saver: replaceMethods(saver, {
      getTuple: async (config) => {
        const tuple = await saver.getTuple(config);
        const isOfHead = isRoot(config) && !config.configurable?.["checkpoint_id"];
        if (!isOfHead || head !== undefined) return tuple;
        head = { id: tuple?.checkpoint.id, isOwn: false };
        if (tuple !== undefined) {
          isFromThisRun = belongsToNextRun(tuple);
          await clockAfter(tuple.checkpoint.id, signal);
        }
        return tuple;
      },
      put: async (config, checkpoint, metadata, versions) => {
        if (!isRoot(config)) return saver.put(config, checkpoint, metadata, versions);
        if (conflict !== undefined) return fail();
        const writes = held;
        held = [];
        let saved: Awaited<ReturnType<BaseCheckpointSaver["put"]>> | undefined;
        const write: Write = async (to) => {
          for (const each of writes) await to.putWrites(...each);
          saved = await to.put(config, checkpoint, metadata, versions);
          return checkpoint.id;
        };
        if (head === undefined || head.id === checkpoint.id) await write(saver);
        else if (!(await latest.writeAfter(head.id, write))) return fail();
        head = { id: checkpoint.id, isOwn: true };
        return saved ?? config;
      },
      // A reader of a delta channel would apply them to whatever continues the checkpoint.
      putWrites: async (...given) => {
        const [config, , task] = given;
        if (!isAtStart(config) || !isFromThisRun(task)) return saver.putWrites(...given);
        if (conflict !== undefined) return fail();
        held.push(given);
      },
      // LangGraph can save in the background, and asks for a version in each superstep. So the run stops here, before
      // it runs more tools.
      getNextVersion: (current) => {
        if (conflict !== undefined) throw conflict;
        return saver.getNextVersion(current);
      },
    }),
    assertKept: async () => {
      if (!head?.isOwn) return;
      const { id } = head;
      const isKept = latest.is(id).then((isLatest) => isLatest || isInThread(thread, id));
      if (!(await answered(isKept, { what: "The checkpointer", signal }))) await fail();
    },
  };
}

/** Subgraphs save their own checkpoints in namespaces of the thread. */
function isRoot({ configurable }: Parameters<BaseCheckpointSaver["getTuple"]>[0]): boolean {
  return (configurable?.["checkpoint_ns"] ?? "") === "";
}

/**
 * Waits until this machine's clock is after that of a checkpoint. LangGraph takes the checkpoint with the latest time for
 * the latest one, so a run that is ahead of its clock would be saved and never be seen.
 */
async function clockAfter(id: string, signal: AbortSignal | undefined): Promise<void> {
  const ahead = (timeOfCheckpoint(id) ?? Number.NEGATIVE_INFINITY) - Date.now();
  if (ahead < 0) return;
  if (ahead > LONGEST_CLOCK_WAIT)
    throw new Error(
      `The latest checkpoint of the thread is ${Math.ceil(ahead / 1_000)} seconds ahead of the clock of this ` +
        "machine, so nothing that follows it would be seen. Set the clocks of the machines.",
    );
  await delay(ahead + 1, undefined, signal && { signal });
}

/** Whether the latest checkpoint is this one, or continues it: the next run may have started already. */
async function isInThread({ saver, threadId }: HeadOf, id: string | undefined): Promise<boolean> {
  let tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
  while (tuple !== undefined && tuple.checkpoint.id !== id)
    tuple = tuple.parentConfig && (await saver.getTuple(tuple.parentConfig));
  return tuple !== undefined;
}

/** The error of a run that cannot go on. @param own The latest checkpoint that has all of its input. */
async function movedOn(thread: GuardedThread, own: string | undefined): Promise<ThreadConflictError> {
  const { threadId, messageIds } = thread;
  const isPart = own !== undefined && (await isInThread(thread, own));
  const ids = messageIds();
  const input = ids.length === 0 ? "its input" : `its input (${ids.map((id) => `\`${id}\``).join(", ")})`;
  const nothing = `The thread has nothing of this run, so send ${input} again.`;
  const part =
    `The thread has ${input} and what was saved until the checkpoint \`${own}\`, and the other run ` +
    "continues from there. Do not send the input again: read the thread, and continue it with the input `null` or with another message.";
  const branch =
    `What this run has saved is not part of the thread. Read it with \`getState\` from the checkpoint ` +
    `\`${own}\`, where the results of its tools are, or send ${input} again.`;
  return new ThreadConflictError(
    "THREAD_MOVED",
    `Expected to be the only run of the thread \`${threadId}\`, but another process or graph wrote to it. ` +
      (own === undefined ? nothing : isPart ? part : branch),
    { threadId: String(threadId), checkpointId: own, isInThread: isPart },
  );
}

/*
 * The latest checkpoint of a thread: tells its id without reading messages, and writes only while it is the latest.
 *
 * No method of a checkpointer does either. `PostgresSaver` and `SqliteSaver` have their connection as a field, so what
 * they would write is recorded, and written in one transaction that looks at the latest checkpoint first. All other
 * checkpointers are asked with `getTuple`, and another process can then write between the look and the write.
 */

/** LangGraph's types say text, but some checkpointers take a number too. */
type ThreadId = string | number;

interface HeadOf {
  /** Reads and writes the thread. */
  readonly saver: BaseCheckpointSaver;
  /** The checkpointer itself, if `saver` is a view of it. */
  readonly target: BaseCheckpointSaver;
  readonly threadId: ThreadId;
  /** The abort of the run. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Contract: calls `put` and `putWrites` of the checkpointer that it gets, and nothing else of it. Resolves to the id of
 * the checkpoint.
 */
type Write = (saver: BaseCheckpointSaver) => Promise<string>;

interface ThreadHead {
  /** Whether this is the latest checkpoint of the thread. Undefined: whether the thread has none. */
  readonly is: (id: string | undefined) => Promise<boolean>;
  /** Writes if this is the latest checkpoint, and returns whether it was. */
  readonly writeAfter: (id: string | undefined, write: Write) => Promise<boolean>;
}

export function threadHead(thread: HeadOf): ThreadHead {
  return inPostgres(thread) ?? inSqlite(thread) ?? inAnySaver(thread);
}

const LATEST = (table: string, parameter: string): string =>
  `SELECT checkpoint_id FROM ${table} WHERE thread_id = ${parameter} AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1`;

/** A statement of a checkpointer, with its values. */
type Statement = readonly [text: string, values: readonly unknown[]];

/**
 * A lock of the thread is held from the look to the commit. The server gives it back if this process is silent, so a
 * thread is never locked for longer than these limits.
 */
const LIMITS = "SET LOCAL lock_timeout = '15s'; SET LOCAL idle_in_transaction_session_timeout = '10s'";

interface PostgresClient {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
}

interface PostgresPool extends Pick<PostgresClient, "query"> {
  connect(): Promise<PostgresClient>;
}

function inPostgres({ target, threadId, signal }: HeadOf): ThreadHead | undefined {
  const pool = poolOf(target);
  const options: unknown = Reflect.get(target, "options");
  if (pool === undefined || !isRecord(options)) return undefined;
  const schema = String(options["schema"]);
  const latest = LATEST(`"${schema}".checkpoints`, "$1");
  const read = async (connection: Pick<PostgresClient, "query">): Promise<string | undefined> => {
    const { rows } = await connection.query(latest, [threadId]);
    return idIn(rows[0]);
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const recording = { query: async (...given: Statement) => add(given), release: () => {} };
    await write(Object.create(target, { pool: { value: { connect: async () => recording } } }));
    const { connect, giveUp } = closing(pool);
    const transaction = async (): Promise<boolean> => {
      const client = await connect();
      try {
        await client.query(
          `BEGIN; ${LIMITS}; SELECT pg_advisory_xact_lock(${lockKey(schema, String(threadId))})`,
        );
        const isLatest = (await read(client)) === id;
        if (isLatest) for (const [text, values] of statements) await client.query(text, values);
        await client.query(isLatest ? "COMMIT" : "ROLLBACK");
        return isLatest;
      } catch (error) {
        await client.query("ROLLBACK").catch(() => {});
        throw error;
      } finally {
        client.release();
      }
    };
    return answered(transaction(), { what: "The checkpointer", signal, giveUp });
  };
  return { is: async (id) => (await read(pool)) === id, writeAfter };
}

/**
 * Clients of a pool that nobody waits for any more are closed: they cannot commit later, and leave their places in the
 * pool to others. The same for a client that could not roll back, as its connection does not answer.
 */
function closing(pool: PostgresPool) {
  let isGivenUp = false;
  const closers = new Set<() => void>();
  const connect = async (): Promise<PostgresClient> => {
    const client = await pool.connect();
    let isBroken = false;
    const release = (): void => {
      if (closers.delete(close)) client.release(isBroken);
    };
    const close = (): void => {
      isBroken = true;
      release();
    };
    closers.add(close);
    if (isGivenUp) {
      release();
      throw new Error("Nobody waits for this client any more.");
    }
    const query: PostgresClient["query"] = async (text, values) => {
      try {
        return await client.query(text, values);
      } catch (error) {
        if (text === "ROLLBACK") isBroken = true;
        throw error;
      }
    };
    return { query, release };
  };
  const giveUp = (): void => {
    isGivenUp = true;
    for (const close of closers) close();
  };
  return { connect, giveUp };
}

/**
 * A view of a checkpointer for one of its writes. If the write is given up, its connection is closed. Only
 * `PostgresSaver` has such connections.
 */
export function abandonable(saver: BaseCheckpointSaver): {
  readonly saver: BaseCheckpointSaver;
  readonly giveUp?: () => void;
} {
  const pool = poolOf(saver);
  if (pool === undefined) return { saver };
  const { connect, giveUp } = closing(pool);
  return { saver: Object.create(saver, { pool: { value: { connect } } }), giveUp };
}

interface SqliteDatabase {
  prepare(text: string): { run(...values: unknown[]): unknown; get(...values: unknown[]): unknown };
  transaction<Result>(work: () => Result): { immediate(): Result };
}

function inSqlite({ target, threadId }: HeadOf): ThreadHead | undefined {
  const database: unknown = Reflect.get(target, "db");
  if (!isSqlite(database) || !writesItself(target, "migratePendingSends")) return undefined;
  const latest = LATEST("checkpoints", "?");
  const is = (id: string | undefined) => idIn(database.prepare(latest).get(threadId)) === id;
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const prepare = (text: string) => ({ run: (...values: unknown[]) => add([text, values]) });
    const recording = { prepare, transaction: (work: unknown) => work };
    await write(Object.create(target, { db: { value: recording }, isSetup: { value: true } }));
    const transaction = database.transaction(() => {
      if (!is(id)) return false;
      for (const [text, values] of statements) database.prepare(text).run(...values);
      return true;
    });
    // Locks the database before it looks.
    return transaction.immediate();
  };
  return { is: async (id) => is(id), writeAfter };
}

/** Keeps what a checkpointer would write. */
function recordStatements() {
  const statements: Statement[] = [];
  const add = ([text, values = []]: Statement): void => {
    if (/^\s*(BEGIN|COMMIT|ROLLBACK)/i.test(text)) return;
    if (!/^\s*INSERT/i.test(text)) throw new Error(`Expected a checkpointer to write only, got \`${text}\`.`);
    statements.push([text, values]);
  };
  return { add, statements };
}

/**
 * Whether the checkpointer writes with the methods of LangGraph's class, which has a method of this name. A subclass or
 * a wrapper with methods of its own can do more than to write, so it is called as it is.
 */
function writesItself(saver: BaseCheckpointSaver, name: string): boolean {
  let owner: object | null = Object.getPrototypeOf(saver);
  while (owner !== null && !Object.hasOwn(owner, "put")) owner = Object.getPrototypeOf(owner);
  if (owner === null || !Object.hasOwn(owner, name)) return false;
  return saver.put === Reflect.get(owner, "put") && saver.putWrites === Reflect.get(owner, "putWrites");
}

/** For each object that holds threads, and each thread, the end of its last write. */
const lastWrites = new WeakMap<object, Map<ThreadId, Promise<unknown>>>();

/** One write after the other in this process, also from several views of one `MemorySaver`. */
function inAnySaver({ saver, target, threadId, signal }: HeadOf): ThreadHead {
  const storage: unknown = Reflect.get(target, "storage");
  /** The checkpoints of the thread in a `MemorySaver`, by id. */
  const listed = (): object | undefined => {
    const thread = isRecord(storage) ? storage[threadId] : undefined;
    const checkpoints = isRecord(thread) ? thread[""] : undefined;
    return isRecord(checkpoints) ? checkpoints : undefined;
  };
  const is = async (id: string | undefined): Promise<boolean> => {
    const checkpoints = listed();
    // Another class can have a field of this name, so the field never decides that a checkpoint is not the latest.
    if (checkpoints !== undefined && latestOf(checkpoints) === id) return true;
    const tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    return tuple?.checkpoint.id === id;
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const holder = isRecord(storage) ? storage : target;
    const ends = lastWrites.get(holder) ?? new Map<ThreadId, Promise<unknown>>();
    lastWrites.set(holder, ends);
    const work = async (): Promise<boolean> => {
      const listing = listings.get(listed() ?? {});
      const isKnown = listing !== undefined && listing.latest === id && isRecent(listing);
      if (!isKnown && !(await is(id))) return false;
      const written = await write(saver);
      const after = listings.get(listed() ?? {});
      if (after !== undefined) after.latest = written;
      return true;
    };
    const written = (ends.get(threadId) ?? Promise.resolve()).then(work);
    const end = answered(written, { what: "The checkpointer", signal }).catch(() => {});
    ends.set(threadId, end);
    void end.then(() => ends.get(threadId) === end && ends.delete(threadId));
    return written;
  };
  return { is, writeAfter };
}

/** What a listing of the checkpoints of a `MemorySaver` found, and what this process has written since. */
interface Listing {
  latest: string | undefined;
  readonly count: number;
  /** In milliseconds. */
  readonly time: number;
}

/** By the object that has the checkpoints of a thread. */
const listings = new WeakMap<object, Listing>();

/** At least so many checkpoints are listed in a millisecond. */
const LISTED_IN_A_MILLISECOND = 5_000;

/**
 * A `MemorySaver` can only list all checkpoints of a thread, and a run writes several. So a long thread is listed at the
 * end of each run. Before a write, a listing is used again if it is younger than ten times what it took.
 */
function isRecent({ count, time }: Listing): boolean {
  return performance.now() - time < 10 * Math.floor(count / LISTED_IN_A_MILLISECOND);
}

/**
 * The id that was added last to a thread in `MemorySaver`, whose `getTuple` would read all messages. An earlier one is not
 * later than it: a run begins after the latest one, and looks before each write.
 */
function latestOf(checkpoints: object): string | undefined {
  const ids = Object.keys(checkpoints);
  const latest = ids.at(-1);
  listings.set(checkpoints, { latest, count: ids.length, time: performance.now() });
  return latest;
}

function idIn(row: unknown): string | undefined {
  const id = isRecord(row) ? row["checkpoint_id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

/** The pool of a `PostgresSaver`. */
function poolOf(saver: BaseCheckpointSaver): PostgresPool | undefined {
  const pool: unknown = Reflect.get(saver, "pool");
  const isPool = hasMethods(pool, "connect", "query") && writesItself(saver, "_dumpBlobs");
  return isPool ? (pool as PostgresPool) : undefined;
}

function isSqlite(value: unknown): value is SqliteDatabase {
  return hasMethods(value, "prepare", "transaction");
}
