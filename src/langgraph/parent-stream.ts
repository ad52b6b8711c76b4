import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../shared/is-record.js";

/** Where a subgraph pushes its chunks beside its own stream: the stream of the graph that runs it. Not exported. */
const PARENT_STREAM = "__pregel_stream";

/** The options of a run whose parent graph is streamed other chunks than it makes. */
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
