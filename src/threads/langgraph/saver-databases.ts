/** The connections of `PostgresSaver` and `SqliteSaver`, which are private fields of theirs. */

import { createHash } from "node:crypto";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { hasMethods, prototypeWith } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import { ownMethod } from "./replace-methods.js";

export interface PostgresClient {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
}

export interface PostgresPool extends Pick<PostgresClient, "query"> {
  connect(): Promise<PostgresClient>;
}

/** The pool of a checkpointer. Undefined if it is no `PostgresSaver`. */
export function poolOf(saver: BaseCheckpointSaver): PostgresPool | undefined {
  const pool: unknown = Reflect.get(saver, "pool");
  const isPool = hasMethods(pool, "connect", "query") && writesItself(saver, "_dumpBlobs");
  return isPool ? (pool as PostgresPool) : undefined;
}

/** The schema of a `PostgresSaver`'s tables. */
export function schemaOf(saver: BaseCheckpointSaver): string {
  return String(Reflect.get(Object(Reflect.get(saver, "options")), "schema"));
}

/** The same `PostgresSaver` with another pool. */
export function withPool(saver: BaseCheckpointSaver, pool: object): BaseCheckpointSaver {
  return viewOf(saver, { pool });
}

/** The part of `better-sqlite3` that is used. */
export interface SqliteDatabase {
  prepare(sql: string): {
    run(...values: unknown[]): unknown;
    get(...values: unknown[]): unknown;
    all(...values: unknown[]): unknown[];
  };
  transaction<Result>(work: () => Result): { immediate(): Result };
}

/** The database of a checkpointer. Undefined if it is no `SqliteSaver`. */
export function sqliteOf(saver: BaseCheckpointSaver): SqliteDatabase | undefined {
  const database: unknown = Reflect.get(saver, "db");
  const isSqlite =
    hasMethods(database, "prepare", "transaction") && writesItself(saver, "migratePendingSends");
  return isSqlite ? (database as SqliteDatabase) : undefined;
}

/**
 * Whether the checkpointer writes with the methods of LangGraph's class, which has a method with this name. A subclass
 * or wrapper with its own methods may do more than write, so it is called as it is.
 */
function writesItself(saver: BaseCheckpointSaver, name: string): boolean {
  const owner = prototypeWith(saver, "put");
  if (owner === undefined || !Object.hasOwn(owner, name)) return false;
  return ownMethod(saver.put) === owner.put && ownMethod(saver.putWrites) === owner.putWrites;
}

/**
 * Closes pool clients that nobody waits for any more. They cannot commit later, and free their places in the pool. A
 * client that could not roll back is also closed, because its connection does not answer.
 */
export function closing(pool: PostgresPool) {
  let isGivenUp = false;
  const lent = new Set<PostgresClient>();
  const giveBack = (client: PostgresClient, isBroken: boolean): void => {
    if (lent.delete(client)) client.release(isBroken);
  };
  const connect = async (): Promise<PostgresClient> => {
    const client = await pool.connect();
    lent.add(client);
    if (isGivenUp) {
      giveBack(client, false);
      throw new Error("Nobody waits for this client any more.");
    }
    let isBroken = false;
    const query: PostgresClient["query"] = async (text, values) => {
      try {
        return await client.query(text, values);
      } catch (error) {
        isBroken ||= text === "ROLLBACK";
        throw error;
      }
    };
    return { query, release: () => giveBack(client, isBroken) };
  };
  const giveUp = (): void => {
    isGivenUp = true;
    for (const client of lent) giveBack(client, true);
  };
  return { connect, giveUp };
}

/** The first 64 bits of a hash. PostgreSQL's lock keys are such numbers, and other programs use them too. */
export function lockKey(...names: readonly string[]): bigint {
  const key = JSON.stringify(["langgraph-tether", ...names]);
  return createHash("sha256").update(key).digest().readBigInt64BE();
}
