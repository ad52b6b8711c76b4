/** What the kit needs of an implementation. Each is described by one adapter in `adapters/`. */

import type { StoredMessage } from "@langchain/core/messages";

/** The hosts that a case can ask. Their addresses are those of the strict provider of the tests. */
export type Host =
  | "openai"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "mistral"
  | "deepseek"
  | "dashscope"
  | "dashscope-native";

export interface Endpoint {
  readonly host: Host;
  /** Without a slash at the end. The paths below it are those of the provider. */
  readonly url: string;
  /** How many tokens the client believes the model's window to have. Undefined: what it knows of the model itself. */
  readonly window?: number | "unknown";
}

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** A JSON schema of an object. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly run: (args: Readonly<Record<string, unknown>>) => Promise<string> | string;
}

export interface AgentOptions {
  readonly endpoint: Endpoint;
  readonly tools: readonly ToolSpec[];
  /** From how many tokens on the thread is summarised, and how many messages stay. Only for those that summarise. */
  readonly summary?: { readonly tokens: number; readonly keep: number };
  /**
   * Whether the program reads the answer while the model writes it. If not, LangChain asks the model in one piece. Only for
   * graphs. @default true
   */
  readonly listens?: boolean;
  /** How many milliseconds the model may be silent. Only for those that have such an option, or whose client has one. */
  readonly idleMs?: number;
}

/** An agent with one thread. */
export interface Agent {
  /**
   * One turn. Contract: streams the model, unless nobody listens. Resolves to the final text. Rejects if the run fails, and if the agent says
   * that its last response was cut off.
   */
  send(messages: readonly StoredMessage[]): Promise<string>;
  /** The messages of the thread as they are stored. */
  read(): Promise<readonly StoredMessage[]>;
  /** Writes to the thread outside any run. Undefined: the implementation has no way to do it. */
  readonly update?: (messages: readonly unknown[]) => Promise<void>;
  /**
   * Remembers the state of the thread. Contract: resolves to a function after which the next turn begins there, in a new
   * branch. Undefined: the implementation has no branches.
   */
  readonly remember?: () => Promise<() => void>;
}

export interface Adapter {
  readonly name: string;
  /** As the table shows it. */
  readonly title: string;
  /** The packages whose versions the results name. */
  readonly packages: readonly string[];
  readonly hosts: readonly Host[];
  /** Whether its calls can wait for a decision. @default false */
  readonly hasApprovals?: boolean;
  /** Whether it is configured to replace the earlier part of a long thread with a summary. */
  readonly summarises: boolean;
  /** Makes a graph of LangGraph, which a server can serve and a checkpointer can save. */
  readonly makeGraph?: MakeGraph;
  open(options: AgentOptions): Promise<Agent>;
}

export interface GraphParts {
  /** A chat model of LangChain. */
  readonly model: unknown;
  /** Tools of LangChain. */
  readonly tools: readonly unknown[];
  /** True: a memory of its own in the threads of another graph. */
  readonly checkpointer?: unknown;
  readonly summary?: AgentOptions["summary"];
  readonly idleMs?: number;
  /** The names of the tools whose calls wait for a human. Only for those that have approvals. */
  readonly approvals?: readonly string[];
  /** Keys of the state beside `messages`: a `StateSchema`. */
  readonly stateSchema?: { readonly fields: object };
}
export type MakeGraph = (parts: GraphParts) => AnyGraph;

/** What the kit uses of a compiled graph. */
export interface AnyGraph {
  invoke(input: unknown, config: object): Promise<{ messages: readonly unknown[] }>;
  stream(input: unknown, config: object): Promise<AsyncIterable<unknown>>;
  getState(
    config: object,
  ): Promise<{ values: { readonly [key: string]: unknown; messages?: readonly unknown[] }; config: object }>;
  updateState(config: object, values: unknown): Promise<unknown>;
}
