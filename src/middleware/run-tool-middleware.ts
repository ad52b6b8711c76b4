/** Runs a tool call with the function middleware of its run around it. */

import type { ToolMessage } from "@langchain/core/messages";
import { isLangGraphSignal } from "../langgraph/is-langgraph-signal.js";
import { isRecord } from "../shared/is-record.js";
import type { FunctionContext } from "./function-context.js";
import { withGuardedContext } from "./guard-writes.js";
import type { FunctionMiddleware } from "./middleware.js";
import { type Exit, runOnion, type Span } from "./run-onion.js";

/** How a tool call can end without running its tool. */
export type SkippedCall =
  | { readonly kind: "invalid-arguments"; readonly detail: string }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "ended" };

export interface FinalizedCall<Update> {
  readonly result: ToolMessage;
  /** What the tool threw; undefined if it returned. */
  readonly error?: unknown;
  /** Whether the run ends if the result stays as it is. */
  readonly endsRun?: boolean;
  /** Makes the update that the call writes to the thread, with the given result in place of its own. */
  readonly updateWith: (given: ToolMessage, options?: { readonly endsRun: boolean }) => Update;
}

/** What the middleware needs to run a call. */
export interface ToolRun<Outcome, Update> {
  /** Contract: runs the tool once. It throws only LangGraph's own signals and the abort of the run. */
  readonly execute: (args: Readonly<Record<string, unknown>>) => Promise<Outcome>;
  /** Contract: makes the result of the call, no matter how it ended. */
  readonly finalize: (outcome: Outcome | SkippedCall) => FinalizedCall<Update>;
  /**
   * Contract: stores the error of a middleware without throwing it. The gate ends the run, and its caller gets the
   * error after the other calls of the batch have finished.
   */
  readonly noteFailure: (error: unknown) => void;
}

/** @throws only LangGraph's own signals and the reason of the run's abort. */
export async function runToolMiddleware<Outcome, Update>(
  layers: readonly FunctionMiddleware[],
  context: FunctionContext,
  { execute, finalize, noteFailure }: ToolRun<Outcome, Update>,
): Promise<Update> {
  let done: FinalizedCall<Update> | undefined;
  let thrown: { readonly error: unknown } | undefined;
  const core = async (): Promise<void> => {
    try {
      const { arguments: args } = context;
      done = finalize(isRecord(args) ? await execute(args) : INVALID_ARGUMENTS);
      context.settle(done.result, done.error);
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const onRetry = (_context: FunctionContext, written: Span): void => context.beginAttempt(written);
  const countUpdates = (): number => context.updates.length;
  const guarded = withGuardedContext(layers, context, "function");
  const exit = await runOnion({ layers: guarded, core, onRetry, countUpdates }, context);
  // An interrupt must pass even if a middleware catches every error.
  if (thrown !== undefined) throw thrown.error;
  if (exit.kind === "threw") {
    if (isLangGraphSignal(exit.error) || context.signal?.aborted === true) throw exit.error;
    noteFailure(exit.error);
  }
  // The result of the tool is kept even if a middleware threw after it.
  const { result, updateWith, endsRun = false } = done ?? finalize(outcomeWithoutTool(exit));
  const last = context.result ?? result;
  return updateWith(last, { endsRun: exit.kind === "terminated" || (endsRun && last === result) });
}

const INVALID_ARGUMENTS = {
  kind: "invalid-arguments",
  detail: "A function middleware set `context.arguments` to a value that is not an object.",
} as const satisfies SkippedCall;

function outcomeWithoutTool(exit: Exit): SkippedCall {
  return exit.kind === "threw" ? exit : { kind: "ended" };
}
