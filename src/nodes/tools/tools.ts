import type { StructuredToolInterface } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { FunctionContext } from "../../middleware/function-context.js";
import { runToolMiddleware } from "../../middleware/run-tool-middleware.js";
import type { RunContext } from "../../settings/run-context.js";
import { noteFailure, runHandleOf, runInputsOf, scopeOf } from "../run/run-handle.js";
import { callTool } from "./call-tool.js";
import { type CallOutcome, finalizeCall, type ToolsUpdate } from "./finalize-call.js";
import type { ToolTask } from "./tool-task.js";

export interface ToolsNodeOptions {
  readonly tools: readonly StructuredToolInterface[];
  /** Whether the model is told what a tool threw, or only that it failed. */
  readonly includeDetailedErrors: boolean;
  readonly toolTimeoutMs: number | undefined;
  /** Whether a call of a tool that is not there ends the run. */
  readonly terminateOnUnknownCalls: boolean;
}

/**
 * Runs one call. It throws nothing but LangGraph's own signals and the abort of its run: a throw in one task would
 * lose the results of siblings that are still running.
 */
export function createToolsNode(options: ToolsNodeOptions) {
  const toolsByName = new Map(options.tools.map((tool) => [tool.name, tool]));
  return async function tools(
    task: ToolTask,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<ToolsUpdate> {
    const handle = runHandleOf(config);
    const answer = async (): Promise<ToolsUpdate> => {
      // A call that waited for its place must not begin when its run has ended.
      config.signal?.throwIfAborted();
      return answerCall(task, toolsByName, options, config);
    };
    const update = await (handle?.limitCalls(answer) ?? answer());
    handle?.record.tally.addResults(1);
    return update;
  };
}

/** No middleware sees a call that cannot be run: there is no tool, or nothing to call it with. */
async function answerCall(
  task: ToolTask,
  toolsByName: ReadonlyMap<string, StructuredToolInterface>,
  { includeDetailedErrors, toolTimeoutMs, terminateOnUnknownCalls }: ToolsNodeOptions,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ToolsUpdate> {
  const { call, args, parseError } = task;
  const finalize = (outcome: CallOutcome) => finalizeCall(task, outcome, includeDetailedErrors);
  const tool = toolsByName.get(call.name);
  if (tool === undefined) {
    const { result, updateWith } = finalize({ kind: "unknown-tool", known: [...toolsByName.keys()] });
    return updateWith(result, { endsRun: terminateOnUnknownCalls });
  }
  if (args === undefined) {
    const detail = call.id === "" ? "the call has no id" : (parseError ?? "they are not valid JSON");
    const { result, updateWith } = finalize({ kind: "invalid-arguments", detail });
    return updateWith(result);
  }
  const wanted = { id: call.id, name: call.name, args };
  const context = new FunctionContext({ call: wanted, tool, ...scopeOf(config) });
  return runToolMiddleware<CallOutcome, ToolsUpdate>(
    runInputsOf(config)?.middleware.function ?? [],
    context,
    {
      execute: (changed) => callTool(tool, { ...wanted, args: changed }, { toolTimeoutMs }, config),
      finalize,
      noteFailure: (error) => noteFailure(error, config),
    },
  );
}
