import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../shared/is-record.js";

/** The key of the parent graph's stream, to which a subgraph also pushes its chunks. Not exported. */
const PARENT_STREAM = "__pregel_stream";

/** The options of a run whose chunks are mapped before they reach the stream of a parent graph. */
export function mapParentStream<Options extends RunnableConfig>(
  options: Options,
  map: (chunk: unknown) => unknown,
): Options {
  const parent: unknown = options.configurable?.[PARENT_STREAM];
  if (!isRecord(parent) || typeof parent["push"] !== "function") return options;
  const push = (chunk: unknown): void => Reflect.apply(Object(parent["push"]), parent, [map(chunk)]);
  const stream = { modes: parent["modes"], push };
  return { ...options, configurable: { ...options.configurable, [PARENT_STREAM]: stream } };
}
