import type { ThreadStore } from "../thread-store.js";
import { openDatabase } from "./database-target.js";
import { openFile } from "./file-target.js";
import { loadGraph } from "./load-graph.js";
import { openPostgres } from "./postgres-target.js";
import { openServer } from "./server-target.js";
import { openSqlite } from "./sqlite-target.js";

/** Where threads are, as the operator named it. */
export type TargetPlace =
  | {
      readonly kind: "url";
      readonly url: string;
      readonly apiKey: string | undefined;
      readonly headers: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "postgres" | "sqlite";
      readonly place: string;
      readonly schema: string | undefined;
      /** See `GraphPlace`. */
      readonly graph: string | undefined;
    }
  | { readonly kind: "file"; readonly file: string };

export interface OpenTargetOptions {
  /** If false, the store refuses every write, and a database is opened so that it refuses them too. */
  readonly canWrite: boolean;
  readonly concurrency: number;
  /** Where paths begin, and where packages are looked for. */
  readonly folder: string;
  /** Contract: the variables that langgraph.json names are added to it. */
  readonly environment: Record<string, string | undefined>;
  readonly readInput: () => Promise<string>;
}

/** @throws UsageError if the target cannot be opened. */
export async function openTarget(place: TargetPlace, options: OpenTargetOptions): Promise<ThreadStore> {
  const { folder, environment, readInput } = options;
  switch (place.kind) {
    case "url":
      return openServer({ ...place, ...options });
    case "file":
      return openFile({ file: place.file, folder, readInput });
    default:
      return openDatabase(
        place.kind === "sqlite" ? openSqlite : openPostgres,
        { ...options, place: place.place, schema: place.schema },
        () => loadGraph({ spec: place.graph, folder, environment }),
      );
  }
}
