/** What LangChain gives every hook of a middleware, as far as this library reads it. */

import type { LangGraphRunnableConfig } from "@langchain/langgraph";

export interface HookRuntime {
  readonly configurable?: LangGraphRunnableConfig["configurable"];
  readonly writer?: ((chunk: unknown) => void) | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly store?: LangGraphRunnableConfig["store"] | null | undefined;
}

/** The config of the run, for the code that this middleware shares with the nodes of `createAgentGraph`. */
export function configOf({ configurable, writer, signal, store }: HookRuntime): LangGraphRunnableConfig {
  return {
    ...(configurable !== undefined && { configurable }),
    ...(writer != null && { writer }),
    ...(signal !== undefined && { signal }),
    ...(store != null && { store }),
  };
}

/** The id of the run's thread; undefined if the run is not in a thread. */
export function threadIdOf({ configurable }: HookRuntime): string | undefined {
  const id: unknown = configurable?.["thread_id"];
  return typeof id === "string" ? id : undefined;
}
