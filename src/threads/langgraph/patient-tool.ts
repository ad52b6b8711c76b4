import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { tool } from "@langchain/core/tools";
import { z } from "zod/v4";
import { viewOf } from "../../shared/views.js";

/** What LangChain's `tool` puts around a function. It is the same text around each of them. */
const WRAPPER = String(tool(() => "", { name: "sample", schema: z.object({}) }).func);

/**
 * A view of a tool that ends when its function ends, also after an abort.
 *
 * LangChain's `tool` gives a function up as soon as the signal of its config aborts, and drops what the function returns
 * then. It looks for the signal in the config that it is given, and completes the config of the function from that of the
 * asynchronous context. So the signal is only there. A tool that was made in another way is returned as it is.
 */
export function patientTool<Tool extends object>(given: Tool): Tool {
  const call: unknown = Reflect.get(given, "_call");
  if (typeof call !== "function" || String(Reflect.get(given, "func")) !== WRAPPER) return given;
  const callPatiently = (input: unknown, runManager: unknown, config: Record<string, unknown> = {}) => {
    const { signal, ...rest } = config;
    return AsyncLocalStorageProviderSingleton.runWithConfig({ ...rest, signal }, () =>
      Reflect.apply(call, given, [input, runManager, rest]),
    );
  };
  return viewOf(given, { _call: callPatiently });
}
