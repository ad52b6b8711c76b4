import type { RunnableConfig } from "@langchain/core/runnables";

/** The options that decide the shape of a run's chunks. */
export interface ChunkOptions extends RunnableConfig {
  readonly streamMode?: unknown;
  readonly subgraphs?: unknown;
  readonly encoding?: unknown;
}

/**
 * A value on the `custom` stream, as a chunk of a run with these options. Undefined if the caller did not ask for that
 * stream. LangGraph makes such chunks only for values that nodes write.
 */
export function customChunk(
  value: unknown,
  { streamMode, subgraphs, encoding }: ChunkOptions,
): { readonly chunk: unknown } | undefined {
  if (![streamMode].flat().includes("custom")) return undefined;
  if (encoding === "text/event-stream") return { chunk: [subgraphs ? [] : null, "custom", value] };
  const isSingle = typeof streamMode === "string";
  if (isSingle) return { chunk: subgraphs ? [[], value] : value };
  return { chunk: subgraphs ? [[], "custom", value] : ["custom", value] };
}
