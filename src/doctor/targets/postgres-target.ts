/** The tables of `PostgresSaver`. */

import type { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { tablesInPostgres } from "../../threads/langgraph/tables.js";
import { type Database, graphOption, storeOfDatabase } from "./database.js";
import {
  hideSecrets,
  importPackage,
  type OpenContext,
  optionOf,
  reasonOf,
  requireDependency,
  safeAddress,
  type TargetKind,
  THREADS_AT_ONCE,
  UsageError,
} from "./target.js";

const SAVER = "@langchain/langgraph-checkpoint-postgres";
const TIMEOUT_MS = 15_000;

/** A pool of `pg`. */
type Pool = ConstructorParameters<typeof PostgresSaver>[0];

export const postgresTarget: TargetKind = {
  option: optionOf(
    "--postgres <ADDRESS>",
    'A PostgreSQL database, such as "$DATABASE_URL". Needs @langchain/langgraph-checkpoint-postgres.',
  ),
  further: [
    optionOf("--schema <NAME>", "The schema of the tables in PostgreSQL. Default: public."),
    graphOption,
  ],
  canWrite: true,
  open: async (place, context) =>
    storeOfDatabase(await openPostgres(place as PostgresPlace, context), place["graph"], context),
  fromReceipt: (target) => {
    const [, address, schema] = /^(postgres[^ ]*)(?: \(schema (.*)\))?$/.exec(target) ?? [];
    return address === undefined ? undefined : { postgres: address, ...(schema !== undefined && { schema }) };
  },
};

interface PostgresPlace {
  readonly postgres: string;
  readonly schema?: string;
}

export async function openPostgres(
  { postgres, schema = "public" }: PostgresPlace,
  { canWrite, folder }: Pick<OpenContext, "canWrite" | "folder">,
): Promise<Database> {
  if (!URL.canParse(postgres) || !/^postgres(?:ql)?:$/.test(new URL(postgres).protocol))
    throw new UsageError(
      "Expected --postgres to be an address such as postgresql://user@localhost:5432/database.",
    );
  const { PostgresSaver: Saver } = await importPackage<{ PostgresSaver: typeof PostgresSaver }>(SAVER, {
    folder,
    why: "Reading a PostgreSQL database",
  });
  const { Pool } = requireDependency(SAVER, "pg", folder) as { Pool: new (options: object) => Pool };
  const target = safeAddress(postgres);
  const hide = hideSecrets(postgres);
  const connect = async (settings: object): Promise<Pool> => {
    const pool = new Pool({
      connectionString: postgres,
      max: THREADS_AT_ONCE + 1,
      connectionTimeoutMillis: TIMEOUT_MS,
      keepAlive: true,
      ...settings,
    });
    // A lost connection would end the process, used or not. Its next query fails with the reason.
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    await assertTables(pool, schema, target, canWrite).catch(async (error: unknown) => {
      await pool.end().catch(() => {});
      throw error;
    });
    return pool;
  };
  // The database itself then refuses every write. A connection pooler can refuse the setting; what is read is the same.
  const settings = canWrite ? {} : { options: "-c default_transaction_read_only=on" };
  const pool = await connect(settings)
    .catch((error: unknown) => {
      if (/unsupported startup parameter/i.test(reasonOf(error))) return connect({});
      throw error;
    })
    .catch((error: unknown): never => {
      if (UsageError.isInstance(error)) throw error;
      throw new UsageError(`The database ${target} cannot be opened: ${hide(reasonOf(firstOf(error)))}`);
    });
  return {
    target: schema === "public" ? target : `${target} (schema ${schema})`,
    saver: new Saver(pool, undefined, { schema }),
    tables: tablesInPostgres(pool, schema),
    hide,
    close: () => pool.end(),
  };
}

/** A host with several addresses fails with one error for each. */
function firstOf(error: unknown): unknown {
  const errors: unknown = Object(error).errors;
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : error;
}

/** The rights that a reader needs, and those of a repair: a blob is never written again. */
const RIGHTS = ["SELECT"];
const RIGHTS_TO_WRITE = ["SELECT", "INSERT", "UPDATE"];

async function assertTables(pool: Pool, schema: string, target: string, canWrite: boolean): Promise<void> {
  const { rows } = await pool.query(
    `SELECT nspname AS schema, array_agg(DISTINCT relname::text) AS names, bool_or(NOT
        has_schema_privilege(pg_namespace.oid, 'USAGE')) AS is_closed,
      array_agg(wanted || ' on ' || relname ORDER BY relname, wanted)
        FILTER (WHERE NOT has_table_privilege(pg_class.oid, wanted)) AS lacking
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace CROSS JOIN unnest($1::text[]) AS wanted
    WHERE relname IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes') AND relkind IN ('r', 'p', 'v')
      AND NOT (relname = 'checkpoint_blobs' AND wanted = 'UPDATE')
    GROUP BY nspname HAVING count(DISTINCT relname) = 3 ORDER BY nspname`,
    [canWrite ? RIGHTS_TO_WRITE : RIGHTS],
  );
  const found = rows.find((row) => row["schema"] === schema);
  if (found !== undefined) {
    const lacking = [...(found.is_closed ? [`USAGE on schema ${schema}`] : []), ...(found.lacking ?? [])];
    if (lacking.length === 0) return;
    throw new UsageError(
      `The user of ${target} has not the rights that this needs in the schema ${schema}: ${lacking.join(", ")}. Grant them, or name another user.`,
    );
  }
  const schemas = rows.map((row) => row["schema"]);
  const hint = schemas.length === 0 ? "" : ` They are in ${schemas.join(", ")}: use --schema ${schemas[0]}.`;
  throw new UsageError(`The schema ${schema} of ${target} has no tables of a LangGraph checkpointer.${hint}`);
}
