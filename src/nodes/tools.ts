import { type BaseMessage, isBaseMessage, ToolMessage } from "@langchain/core/messages";
import { type StructuredToolInterface, ToolInputParsingException } from "@langchain/core/tools";
import { type Command, isCommand, isGraphBubbleUp, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Call } from "../history/call.js";
import { coerceMessage } from "../history/coerce-message.js";
import { isResult } from "../history/result.js";
import { toJson } from "../to-json.js";
import type { AgentUpdate } from "./agent-state.js";
import { countStep, runHandleOf } from "./run-handle.js";
import { runTool, ToolTimeoutError } from "./run-tool.js";
import type { RunContext } from "./settings.js";
import type { ToolTask } from "./tool-task.js";

export interface ToolsNodeOptions {
  readonly tools: readonly StructuredToolInterface[];
  /** Whether the model is told what a tool threw, or only that it failed. */
  readonly includeDetailedErrors: boolean;
  readonly toolTimeoutMs: number | undefined;
}

/** Providers refuse an empty result. */
const NO_OUTPUT = "(no output)";

type ToolsUpdate = AgentUpdate | Command | (AgentUpdate | Command)[];

/** Every way in which a call can end. */
type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "unknown-tool" }
  | { readonly kind: "invalid-arguments"; readonly detail: string }
  | { readonly kind: "timed-out"; readonly milliseconds: number }
  | { readonly kind: "threw"; readonly error: unknown };

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
    const outcome = await executeCall(task, toolsByName.get(task.call.name), config, options);
    const update = finalizeCall(task, outcome, options);
    runHandleOf(config)?.tally.addResults(1);
    return update;
  };
}

async function executeCall(
  { call, args, parseError }: ToolTask,
  tool: StructuredToolInterface | undefined,
  config: LangGraphRunnableConfig<RunContext>,
  { toolTimeoutMs }: ToolsNodeOptions,
): Promise<Outcome> {
  if (tool === undefined) return { kind: "unknown-tool" };
  if (args === undefined)
    return { kind: "invalid-arguments", detail: parseError ?? "they are not valid JSON" };
  try {
    const value = await runTool(
      tool,
      { id: call.id, name: call.name, args, type: "tool_call" },
      config,
      toolTimeoutMs,
    );
    return { kind: "returned", value };
  } catch (error) {
    if (isLangGraphSignal(error) || config.signal?.aborted === true) throw error;
    if (error instanceof ToolTimeoutError) return { kind: "timed-out", milliseconds: error.milliseconds };
    if (isInputError(error)) return { kind: "invalid-arguments", detail: error.message };
    return { kind: "threw", error };
  }
}

/** The one place where a call's result is made. */
function finalizeCall({ call }: ToolTask, outcome: Outcome, options: ToolsNodeOptions): ToolsUpdate {
  const fail = (content: string): AgentUpdate => ({
    messages: [new ToolMessage({ content, tool_call_id: call.id, name: call.name, status: "error" })],
  });
  switch (outcome.kind) {
    case "returned":
      if (isCommand(outcome.value)) return withResult(outcome.value, call);
      return { messages: [toResult(outcome.value, call.id, call.name)] };
    case "unknown-tool": {
      const known = options.tools.map(({ name }) => name).join(", ") || "none";
      return fail(`Error: there is no tool named \`${call.name}\`. The tools are: ${known}.`);
    }
    case "invalid-arguments":
      return fail(
        `Error: the arguments of \`${call.name}\` were refused, so it was not run: ${outcome.detail}`,
      );
    case "timed-out":
      return fail(
        `Error: \`${call.name}\` did not finish within ${outcome.milliseconds} ms. It may or may not have taken effect.`,
      );
    case "threw":
      return fail(
        options.includeDetailedErrors
          ? `Error: \`${call.name}\` failed: ${messageOf(outcome.error)}`
          : `Error: \`${call.name}\` failed.`,
      );
  }
}

/** A command that a tool returns may leave its call unanswered; then the call is answered beside it. */
function withResult(command: Command, { id, name }: Call): ToolsUpdate {
  const update: unknown = command.update;
  const written =
    typeof update === "object" && update !== null && "messages" in update ? update.messages : [];
  const isAnswered = [written].flat().some((value) => {
    const message = coerceMessage(value);
    return message !== undefined && isResult(message) && message.tool_call_id === id;
  });
  return isAnswered ? command : [{ messages: [toResult(NO_OUTPUT, id, name)] }, command];
}

function toResult(value: unknown, callId: string, name: string): BaseMessage {
  if (isBaseMessage(value) && isResult(value) && value.tool_call_id === callId) return value;
  const content = isBaseMessage(value)
    ? value.content
    : typeof value === "string"
      ? value
      : (toJson(value) ?? NO_OUTPUT);
  return new ToolMessage({ content, tool_call_id: callId, name, status: "success" });
}

/** LangGraph's own check reads a field of whatever was thrown. */
function isLangGraphSignal(error: unknown): boolean {
  return typeof error === "object" && error !== null && isGraphBubbleUp(error);
}

/** LangChain's error for arguments that do not fit the tool's schema; its message names the field. */
function isInputError(error: unknown): error is Error {
  return error instanceof ToolInputParsingException;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
