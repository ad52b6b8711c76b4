/** What `getCurrentTaskInput()` of LangGraph returns in a task. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../shared/is-record.js";

/** The notes of a task, which hold its input. Not exported. */
const SCRATCHPAD = "__pregel_scratchpad";

/**
 * A config in which `getCurrentTaskInput()` returns the given value. The input of a task that runs one tool call is that
 * call. Tools expect the state, as under other agents. All other notes of the task stay shared, because LangGraph counts
 * the interrupts of a task in them.
 */
export function withTaskInput<Config extends RunnableConfig>(config: Config, input: unknown): Config {
  const scratchpad: unknown = config.configurable?.[SCRATCHPAD];
  if (!isRecord(scratchpad)) return config;
  const view = new Proxy(scratchpad, {
    get: (target, name) => (name === "currentTaskInput" ? input : Reflect.get(target, name, target)),
  });
  return { ...config, configurable: { ...config.configurable, [SCRATCHPAD]: view } };
}
