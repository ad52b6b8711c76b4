/**
 * A tool call of a LangChain agent: its error becomes a result, and what LangGraph does not save waits for the next run.
 */

import { setMaxListeners } from "node:events";
import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Command, isCommand, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { isLangGraphSignal } from "../providers/failure/langgraph-signal.js";
import { isError, isOfAbort } from "../shared/is-error.js";
import { safely } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import { viewOf } from "../shared/views.js";
import { untilAborted } from "../shared/waiting.js";
import { resultIn } from "../threads/commands.js";
import { callKeyOf, keepUntilSaved } from "../threads/ended-runs.js";
import { withOwnMemory } from "../threads/langgraph/own-memory.js";
import { patientTool } from "../threads/langgraph/patient-tool.js";

interface WantedCall {
  readonly id?: string | undefined;
  readonly name: string;
}

interface ToolRequest<Tool> {
  readonly toolCall: WantedCall;
  readonly tool: Tool;
  readonly state: { readonly messages: readonly BaseMessage[] };
}

/**
 * The outcome of a tool call. What comes after the abort of the run goes to the next run of the thread, and so does what a
 * middleware around this one does not give to LangGraph, because it throws or is still at work when the run ends.
 *
 * @param keepErrors Whether what the tool throws becomes an error result.
 * @param handle Contract: runs the tool that it gets.
 * @throws The reason of the abort, at once, LangGraph's own signals, and without `keepErrors` what the tool throws.
 */
export async function runTool<Tool>(
  { toolCall, tool, state: { messages } }: ToolRequest<Tool>,
  config: LangGraphRunnableConfig,
  keepErrors: boolean,
  handle: (tool: Tool) => ToolMessage | Command | Promise<ToolMessage | Command>,
): Promise<ToolMessage | Command> {
  const { signal } = config;
  // LangGraph adds a listener for each call of the step, and Node warns of more than ten.
  if (signal !== undefined) setMaxListeners(0, signal);
  const head = messages.findLast(isAIMessage);
  const index = head === undefined ? -1 : callsOf(head).findIndex(({ id }) => id === toolCall.id);
  const place = index < 0 ? undefined : `${head?.id}:${index}`;
  const run = async () => handle(place === undefined ? tool : prepared(tool, toolCall, place, index));
  const outcome = keepErrors ? keepResult(toolCall, signal, run) : run();
  if (place !== undefined) keepUntilSaved(place, lateOutcome(outcome, toolCall), config);
  return untilAborted(outcome, signal);
}

/** Of a command, its result for the call. */
async function lateOutcome(coming: Promise<ToolMessage | Command>, { id = "" }: WantedCall) {
  const outcome = await coming;
  return { result: resultIn(isCommand(outcome) ? outcome : { messages: outcome }, id), values: [] };
}

/**
 * The outcome of a tool call, or an error result in place of what it threw: a throw would end the run, and lose the
 * results of the calls that still run. The text is the one that LangChain uses in an agent without middleware.
 *
 * @throws LangGraph's own signals, and what the tool throws because of the abort.
 */
async function keepResult<Outcome>(
  { id, name }: WantedCall,
  signal: AbortSignal | undefined,
  run: () => Outcome | Promise<Outcome>,
): Promise<Outcome | ToolMessage> {
  try {
    return await run();
  } catch (error) {
    if (safely(() => isLangGraphSignal(error), false) || isOfAbort(error, signal)) throw error;
    return new ToolMessage({ content: contentFor(error), tool_call_id: id ?? "", name, status: "error" });
  }
}

/**
 * The tool with the key of its call in its runtime, and with a memory of its own. A graph with `checkpointer: true` that a
 * tool runs goes on with the memory that LangGraph gives to all tools of the agent. Only the first call of a response has
 * that one, because the others run beside it.
 */
function prepared<Tool>(given: Tool, { name }: WantedCall, place: string, index: number): Tool {
  const invoke: unknown = Reflect.get(Object(given), "invoke");
  if (!isRecord(given) || typeof invoke !== "function") return given;
  const tool = patientTool(given);
  return viewOf(tool, {
    invoke: (input: unknown, passed: RunnableConfig) => {
      const config = index === 0 ? passed : withOwnMemory(passed, `${name}.${index}`);
      const callKey = callKeyOf(config, place);
      return Reflect.apply(invoke, tool, [input, { ...config, ...(index > 0 && { config }), callKey }]);
    },
  });
}

function contentFor(error: unknown): string {
  // Any value can be thrown, even one that cannot be converted to a string.
  return safely(() => {
    const cause = causeOf(error);
    // LangChain's error for arguments that the tool's schema refuses. Its message is for the model.
    return brandOf(cause) === "ToolInvocationError"
      ? String(Reflect.get(Object(cause), "message"))
      : `${cause}\n Please fix your mistakes.`;
  }, "Error: the tool failed.");
}

/** LangChain wraps what passes through the middleware of a tool call, once for each of them. */
function causeOf(error: unknown): unknown {
  const cause: unknown =
    brandOf(error) === "MiddlewareError" ? Reflect.get(Object(error), "cause") : undefined;
  return cause === undefined ? error : causeOf(cause);
}

function brandOf(error: unknown): unknown {
  return isError(error) ? Reflect.get(error, "~brand") : undefined;
}
