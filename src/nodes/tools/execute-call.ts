import type { StructuredToolInterface } from "@langchain/core/tools";
import { ToolInputParsingException } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isLangGraphSignal } from "../../langgraph/is-langgraph-signal.js";
import type { RunContext } from "../../settings/run-context.js";
import { runTool, ToolTimeoutError } from "./call-tool.js";
import type { CallOutcome } from "./finalize-call.js";

export interface WantedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Runs a tool once. Throws nothing but LangGraph's own signals and the abort of the run. */
export async function executeCall(
  call: WantedCall,
  tool: StructuredToolInterface,
  config: LangGraphRunnableConfig<RunContext>,
  timeoutMs: number | undefined,
): Promise<CallOutcome> {
  try {
    return {
      kind: "returned",
      value: await runTool(tool, { ...call, type: "tool_call" }, config, timeoutMs),
    };
  } catch (error) {
    if (isLangGraphSignal(error) || config.signal?.aborted === true) throw error;
    if (error instanceof ToolTimeoutError) return { kind: "timed-out", milliseconds: error.milliseconds };
    // Its message names the field that does not fit the tool's schema.
    if (isParsingException(error)) return { kind: "invalid-arguments", detail: error.message };
    return { kind: "threw", error };
  }
}

/** The tools of a CommonJS program throw a second copy of LangChain's class. */
function isParsingException(error: unknown): error is ToolInputParsingException {
  if (error instanceof ToolInputParsingException) return true;
  return error instanceof Error && error.constructor.name === "ToolInputParsingException";
}
