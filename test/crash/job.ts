/** What a child process is told to do, and what it writes into the ledger of its thread. */

/** A moment of a run at which a child can kill itself. */
export const OPERATIONS = [
  "model",
  "chunk",
  "tool-start",
  "tool-end",
  "put-start",
  "put-end",
  "writes-start",
  "writes-end",
  "summary",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Those of a thread that is summarised only. A run has few of them. */
export const SUMMARY_OPERATIONS: readonly Operation[] = ["summary"];

export type Durability = "sync" | "async" | "exit";
export type Channel = "full" | "delta";

/**
 * Where threads are saved: a file for SQLite, the URL of a PostgreSQL database and a schema, or a folder for the
 * memory of a process, which would be gone with the process. Stores are beside them.
 */
export type Database =
  | { readonly kind: "memory"; readonly folder: string }
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string; readonly schema: string };

/** The child kills itself at the n-th of these operations. */
export interface Moment {
  readonly operation: Operation;
  readonly count: number;
  /** Counts from the first of these operations on. Undefined: from the beginning. */
  readonly since?: Operation;
}

export interface Job {
  readonly database: Database;
  readonly durability: Durability;
  readonly messagesChannel: Channel;
  readonly threadId: string;
  /** The number of this process in its thread. Ids of tool calls begin with it. */
  readonly boot: number;
  /** The message of the user; null to go on with what the process before has left. */
  readonly text: string | null;
  /** How many times the model of this process calls three tools before it answers. */
  readonly rounds: number;
  /** Whether the thread is summarised early, and its covered messages are archived. */
  readonly isSummarised: boolean;
  readonly killAt: Moment | undefined;
  /** A file to which the child appends one entry a line. */
  readonly ledger: string;
  /** The file of a module whose `adapter.makeGraph` makes another agent. Undefined: `createAgentGraph` makes it. */
  readonly agent?: string;
}

export interface Noted {
  /** The same for a message in every list that has it. A placeholder has none: a result can replace it. */
  readonly key: string | undefined;
  readonly line: string;
  readonly results?: readonly string[];
}

export type Entry = { readonly boot: number } & (
  | { readonly kind: "boot"; readonly text: string | null }
  /** The process dies at its moment, and writes nothing more. */
  | { readonly kind: "kill" }
  | {
      readonly kind: "state" | "result";
      readonly messages: readonly Noted[];
      readonly faults: readonly string[];
    }
  | { readonly kind: "model"; readonly faults: readonly string[] }
  | { readonly kind: "tool-start" | "tool-end"; readonly callId: string }
  | { readonly kind: "put-start" | "writes-start" | "chunk" | "summary" }
  | {
      readonly kind: "put-end";
      readonly checkpointId: string;
      readonly parentId: string | undefined;
      readonly versions: Readonly<Record<string, unknown>>;
      /** Undefined if a delta channel has them in the writes before it. */
      readonly messages: readonly Noted[] | undefined;
    }
  | { readonly kind: "writes-end"; readonly checkpointId: string; readonly messages: readonly Noted[] }
  | { readonly kind: "error"; readonly name: string; readonly message: string }
);
export type EntryOf<Kind extends Entry["kind"]> = Extract<Entry, { readonly kind: Kind }>;
export type NewEntry = Entry extends infer Each ? (Each extends Entry ? Omit<Each, "boot"> : never) : never;
export type Passed = NewEntry & { readonly kind: Operation };
