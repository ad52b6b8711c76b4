import type { StructuredToolInterface } from "@langchain/core/tools";
import { ToolInputParsingException } from "@langchain/core/tools";
import { isGraphBubbleUp, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { RunContext } from "../settings/run-context.js";
import { type CallOutcome, finalizeCall, type ToolsUpdate } from "./finalize-call.js";
import { countStep, runHandleOf } from "./run-handle.js";
import { runTool, ToolTimeoutError } from "./run-tool.js";
import type { ToolTask } from "./tool-task.js";

export interface ToolsNodeOptions {
  readonly tools: readonly StructuredToolInterface[];
  /** Whether the model is told what a tool threw, or only that it failed. */
  readonly includeDetailedErrors: boolean;
  readonly toolTimeoutMs: number | undefined;
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
    countStep(config);
    const tool = toolsByName.get(task.call.name);
    const outcome: CallOutcome =
      tool === undefined
        ? { kind: "unknown-tool", known: [...toolsByName.keys()] }
        : await executeCall(task, tool, config, options.toolTimeoutMs);
    const update = finalizeCall(task, outcome, options.includeDetailedErrors);
    runHandleOf(config)?.tally.addResults(1);
    return update;
  };
}

async function executeCall(
  { call, args, parseError }: ToolTask,
  tool: StructuredToolInterface,
  config: LangGraphRunnableConfig<RunContext>,
  timeoutMs: number | undefined,
): Promise<CallOutcome> {
  if (args === undefined) {
    const detail = call.id === "" ? "the call has no id" : (parseError ?? "they are not valid JSON");
    return { kind: "invalid-arguments", detail };
  }
  try {
    const toolCall = { id: call.id, name: call.name, args, type: "tool_call" } as const;
    return { kind: "returned", value: await runTool(tool, toolCall, config, timeoutMs) };
  } catch (error) {
    if (isLangGraphSignal(error) || config.signal?.aborted === true) throw error;
    if (error instanceof ToolTimeoutError) return { kind: "timed-out", milliseconds: error.milliseconds };
    // Its message names the field that does not fit the tool's schema.
    if (error instanceof ToolInputParsingException)
      return { kind: "invalid-arguments", detail: error.message };
    return { kind: "threw", error };
  }
}

/** LangGraph's own check reads a field of whatever was thrown. */
function isLangGraphSignal(error: unknown): boolean {
  return typeof error === "object" && error !== null && isGraphBubbleUp(error);
}
