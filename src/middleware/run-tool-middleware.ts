/** One tool call, through the function middleware of its run. */

import type { ToolMessage } from "@langchain/core/messages";
import { isLangGraphSignal } from "../langgraph/is-langgraph-signal.js";
import { isRecord } from "../shared/is-record.js";
import type { FunctionContext } from "./function-context.js";
import type { FunctionMiddleware } from "./middleware.js";
import { type Exit, runOnion } from "./run-onion.js";

/** How a call can end without its tool. */
export type SkippedCall =
  | { readonly kind: "invalid-arguments"; readonly detail: string }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "ended" };

export interface FinalizedCall<Update> {
  readonly result: ToolMessage;
  /** What the call writes to the thread, with the given result in the place of its own. */
  readonly updateWith: (given: ToolMessage, options?: { readonly endsRun: boolean }) => Update;
}

/** What goes on inside the layer, and whom it tells of a failure. */
export interface ToolRun<Outcome, Update> {
  /** Contract: runs the tool once. It throws nothing but LangGraph's own signals and the abort of the run. */
  readonly execute: (args: Readonly<Record<string, unknown>>) => Promise<Outcome>;
  /** Contract: makes the result, however the call ended. */
  readonly finalize: (outcome: Outcome | SkippedCall) => FinalizedCall<Update>;
  /**
   * Contract: keeps what a middleware threw and does not throw it. The gate ends the run, and the error reaches the
   * caller of the run when the siblings of this call are done.
   */
  readonly noteFailure: (error: unknown) => void;
}

/** Throws nothing but LangGraph's own signals and the abort of the run. */
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
      context.result = done.result;
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const onRetry = (): void => {
    context.attempt += 1;
  };
  const exit = await runOnion({ layers, core, onRetry }, context);
  // An interrupt passes, also through a middleware that catches everything.
  if (thrown !== undefined) throw thrown.error;
  if (exit.kind === "threw") {
    if (isLangGraphSignal(exit.error) || context.signal?.aborted === true) throw exit.error;
    noteFailure(exit.error);
  }
  // What the tool has returned is kept, also if a middleware threw after it.
  const { result, updateWith } = done ?? finalize(outcomeWithoutTool(exit));
  return updateWith(context.result ?? result, { endsRun: exit.kind === "terminated" });
}

const INVALID_ARGUMENTS = {
  kind: "invalid-arguments",
  detail: "A function middleware set `context.arguments` to a value that is no object.",
} as const satisfies SkippedCall;

function outcomeWithoutTool(exit: Exit): SkippedCall {
  return exit.kind === "threw" ? exit : { kind: "ended" };
}
