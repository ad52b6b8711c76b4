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
export function customChunk(value: unknown, options: ChunkOptions): { readonly chunk: unknown } | undefined {
  const { streamMode, subgraphs, encoding } = options;
  if (![streamMode].flat().includes("custom")) return undefined;
  // The chunks of `streamEvents` become events, and are encoded later.
  const isEncoded = encoding === "text/event-stream" && !("version" in options);
  if (isEncoded) return { chunk: [subgraphs ? [] : null, "custom", value] };
  const isSingle = typeof streamMode === "string";
  if (isSingle) return { chunk: subgraphs ? [[], value] : value };
  return { chunk: subgraphs ? [[], "custom", value] : ["custom", value] };
}
