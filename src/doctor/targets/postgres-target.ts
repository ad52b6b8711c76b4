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
    await assertTables(pool, schema, target).catch(async (error: unknown) => {
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

async function assertTables(pool: Pool, schema: string, target: string): Promise<void> {
  const { rows } = await pool.query(
    `SELECT table_schema FROM information_schema.tables
    WHERE table_name IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')
    GROUP BY table_schema HAVING count(*) = 3 ORDER BY table_schema`,
  );
  const schemas = rows.map((row) => row["table_schema"]);
  if (schemas.includes(schema)) return;
  const hint = schemas.length === 0 ? "" : ` They are in ${schemas.join(", ")}: use --schema ${schemas[0]}.`;
  throw new UsageError(`The schema ${schema} of ${target} has no tables of a LangGraph checkpointer.${hint}`);
}
