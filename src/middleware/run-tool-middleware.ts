/** One call of a tool, through the function middleware of its run. */

import type { StructuredToolInterface } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { endingRun } from "../history/result.js";
import { isLangGraphSignal } from "../langgraph/is-langgraph-signal.js";
import { noteFailure, scopeOf } from "../nodes/run/run-handle.js";
import { executeCall, type WantedCall } from "../nodes/tools/execute-call.js";
import {
  type CallOutcome,
  type FinalizedCall,
  finalizeCall,
  replaceResult,
  type ToolsUpdate,
} from "../nodes/tools/finalize-call.js";
import type { ToolTask } from "../nodes/tools/tool-task.js";
import type { RunContext } from "../settings/run-context.js";
import { isRecord } from "../shared/is-record.js";
import { FunctionContext } from "./function-context.js";
import type { FunctionMiddleware } from "./middleware.js";
import { type Exit, runOnion } from "./run-onion.js";

export interface FunctionLayer {
  readonly layers: readonly FunctionMiddleware[];
  readonly includesDetails: boolean;
  readonly timeoutMs: number | undefined;
}

/**
 * Throws nothing but LangGraph's own signals and the abort of the run. What a middleware throws is noted: the gate
 * ends the run, and the error reaches its caller when the siblings of this call are done.
 */
export async function callThroughMiddleware(
  task: ToolTask,
  call: WantedCall,
  tool: StructuredToolInterface,
  { layers, includesDetails, timeoutMs }: FunctionLayer,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ToolsUpdate> {
  let done: FinalizedCall | undefined;
  let thrown: { readonly error: unknown } | undefined;
  const core = async (context: FunctionContext): Promise<void> => {
    try {
      const { arguments: args } = context;
      const outcome: CallOutcome = isRecord(args)
        ? await executeCall({ ...call, args }, tool, config, timeoutMs)
        : { kind: "invalid-arguments", detail: NO_OBJECT };
      done = finalizeCall(task, outcome, includesDetails);
      context.result = done.result;
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const onRetry = (context: FunctionContext): void => {
    context.attempt += 1;
  };
  const context = new FunctionContext({ call, tool, ...scopeOf(config) });
  const exit = await runOnion({ layers, core, onRetry }, context);
  // An interrupt passes, also through a middleware that catches everything.
  if (thrown !== undefined) throw thrown.error;
  if (exit.kind === "threw") {
    if (isLangGraphSignal(exit.error) || config.signal?.aborted === true) throw exit.error;
    noteFailure(exit.error, config);
  }
  // What the tool has returned stays, also if a middleware threw behind it.
  const own = done ?? finalizeCall(task, outcomeOf(exit), includesDetails);
  const result = replaceResult(task, context.result ?? own.result);
  return own.updateWith(exit.kind === "terminated" ? endingRun(result) : result);
}

const NO_OBJECT = "A function middleware set `context.arguments` to what is no object.";

/** Of a call whose tool was not run. */
function outcomeOf(exit: Exit): CallOutcome {
  return exit.kind === "threw" ? exit : { kind: "ended" };
}
