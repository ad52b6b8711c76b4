import type { RunConfigOf } from "../langgraph/wrappable-graph.js";
import type { BaseGraph } from "./base-graph.js";

type AnyOptions = RunConfigOf<BaseGraph>;

/**
 * The options of a run, with what `withConfig` has bound to its graph where the run does not say. Only the options that
 * are read before LangGraph starts: it merges all others itself. A bound signal aborts the run beside its own one, and
 * LangGraph would take only one of them.
 *
 * @param abort Aborts the run too.
 */
export function withBound(
  options: AnyOptions,
  config: AnyOptions = {},
  abort: AbortSignal | undefined = undefined,
): AnyOptions {
  const { context, maxConcurrency, configurable, signal } = config;
  const { context: chosen, configurable: own, ...rest } = options;
  const settings = chosen ?? context;
  const signals = [rest.signal, signal, abort].filter((each) => each !== undefined);
  return {
    ...rest,
    // One signal of its own for each run: Node warns of more than ten listeners, and LangGraph reads one signal only.
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    ...(rest.maxConcurrency === undefined && maxConcurrency !== undefined && { maxConcurrency }),
    ...(settings !== undefined && { context: settings }),
    ...((configurable ?? own) !== undefined && { configurable: { ...configurable, ...own } }),
  };
}
