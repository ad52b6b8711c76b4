import type { StructuredToolInterface, ToolInputParsingException } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { readState } from "../../langgraph/checkpoints/read-history.js";
import { isLangGraphSignal } from "../../langgraph/is-langgraph-signal.js";
import { withOwnSends } from "../../langgraph/own-command.js";
import { withTaskInput } from "../../langgraph/task-input.js";
import type { RunContext } from "../../settings/run-context.js";
import { isError, isOfAbort } from "../../shared/is-error.js";
import { safely } from "../../shared/safely.js";
import { runInputsOf } from "../run/run-handle.js";
import { withDeadline } from "../run/with-deadline.js";
import type { CallOutcome } from "./finalize-call.js";
import { patientTool } from "./patient-tool.js";

export interface WantedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface CallToolOptions {
  /** Milliseconds; undefined: no limit. */
  readonly toolTimeoutMs: number | undefined;
}

/**
 * Runs a tool once, with the runtime that LangChain's tools expect: a config with the state, store, context, writer and
 * id of the tool call. The tool's signal aborts with the run or at the timeout. A tool that ignores the timeout is
 * abandoned. After the abort of the run it is waited for, as long as it takes.
 *
 * @throws LangGraph's own signals, and what the tool throws because of the abort. Anything else that it throws is returned
 * as an outcome.
 */
export async function callTool(
  tool: StructuredToolInterface,
  wanted: WantedCall,
  { toolTimeoutMs }: CallToolOptions,
  taskConfig: LangGraphRunnableConfig<RunContext>,
): Promise<CallOutcome> {
  taskConfig.signal?.throwIfAborted();
  const state = readState(taskConfig, runInputsOf(taskConfig)?.ownState.keys ?? []);
  const config = state === undefined ? taskConfig : withTaskInput(taskConfig, state);
  const call = { ...wanted, type: "tool_call" as const };
  const invoke = (signal: AbortSignal): Promise<unknown> =>
    patientTool(tool).invoke(call, {
      ...config,
      signal,
      config,
      state,
      toolCall: call,
      toolCallId: call.id,
      writer: config.writer ?? null,
      store: config.store ?? null,
    });
  const timeoutError = (milliseconds: number) => new ToolTimeoutError(milliseconds);
  try {
    const deadline = { signal: config.signal, timeoutMs: toolTimeoutMs, timeoutError, outlivesAbort: true };
    return { kind: "returned", value: withOwnSends(await withDeadline(invoke, deadline)) };
  } catch (error) {
    if (safely(() => isLangGraphSignal(error), false) || isOfAbort(error, config.signal)) throw error;
    return safely(() => outcomeOf(error), { kind: "threw", error });
  }
}

function outcomeOf(error: unknown): CallOutcome {
  if (isTimeout(error)) return { kind: "timed-out", milliseconds: error.milliseconds, error };
  // The message names the field that does not match the tool's schema.
  if (isParsingException(error)) return { kind: "invalid-arguments", detail: error.message, error };
  return { kind: "threw", error };
}

/** The reason of the signal that a tool sees. */
class ToolTimeoutError extends Error {
  override readonly name = "ToolTimeoutError";
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`The tool did not finish within ${milliseconds} ms.`);
    this.milliseconds = milliseconds;
  }
}

function isTimeout(error: unknown): error is ToolTimeoutError {
  return isError(error) && error.name === "ToolTimeoutError";
}

/**
 * LangChain's error for arguments that do not match the tool's schema, of any copy of LangChain. It has no name of its
 * own. `output` holds the arguments.
 */
function isParsingException(error: unknown): error is ToolInputParsingException {
  return (
    isError(error) &&
    "output" in error &&
    typeof error.output === "string" &&
    (Object(error.constructor).name === "ToolInputParsingException" || PARSING_MESSAGE.test(error.message))
  );
}

/** In a bundle the class can have another name. */
const PARSING_MESSAGE = /^Received tool input did not match expected schema\b/;
