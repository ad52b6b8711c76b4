/** Asks the channel of a running graph what its reducer makes of a write. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../../shared/is-record.js";

/** LangGraph's reader of channels, and its writer. Only tasks have them. Not exported. */
const READ = "__pregel_read";
const SEND = "__pregel_send";

/**
 * The value that a channel has after this write. The write is one of the task, so it must change nothing. Undefined for
 * a function that runs outside a graph.
 */
export function probeChannel(
  { configurable }: Pick<RunnableConfig, "configurable">,
  name: string,
  write: unknown,
): unknown {
  const read: unknown = configurable?.[READ];
  const send: unknown = configurable?.[SEND];
  if (typeof read !== "function" || typeof send !== "function") return undefined;
  send([[name, write]]);
  const values: unknown = read([name], true);
  return isRecord(values) ? values[name] : undefined;
}
