/** Tools whose results are waited for, although LangChain abandons them. */

import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { tool } from "@langchain/core/tools";
import { z } from "zod/v4";
import { viewOf } from "../../shared/views.js";

/** What LangChain's `tool` wraps around a function. Its text is the same for each function. */
const WRAPPER = String(tool(() => "", { name: "sample", schema: z.object({}) }).func);

/**
 * A view of a tool that ends when its function ends, even after an abort.
 *
 * LangChain's `tool`, up to `@langchain/core` 1.4.0 at least, abandons a function as soon as its config's signal aborts,
 * and drops what the function then returns. It looks for the signal in the config that it gets, but completes the
 * function's config from the asynchronous context. So the signal is only in that context. A tool that was made another
 * way is returned as it is.
 */
export function patientTool<Tool extends object>(given: Tool): Tool {
  const call: unknown = Reflect.get(given, "_call");
  if (typeof call !== "function" || String(Reflect.get(given, "func")) !== WRAPPER) return given;
  const callPatiently = (input: unknown, runManager: unknown, config: Record<string, unknown> = {}) => {
    const { signal, ...rest } = config;
    const start = (): unknown => Reflect.apply(call, given, [input, runManager, rest]);
    // The context of a graph's task has the task's signal.
    return AsyncLocalStorageProviderSingleton.getRunnableConfig()?.signal === signal
      ? start()
      : AsyncLocalStorageProviderSingleton.runWithConfig({ ...rest, signal }, start);
  };
  return viewOf(given, { _call: callPatiently });
}
