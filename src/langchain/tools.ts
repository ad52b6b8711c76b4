/**
 * A LangChain agent's tool call: what LangGraph does not save of it waits for the next run, and its error becomes a
 * result if the user wants that.
 */

import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isCommand, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { placeOfCall } from "../history/group.js";
import { NO_OUTPUT } from "../history/result.js";
import { interruptsOf, isLangGraphSignal } from "../providers/failure/langgraph-signal.js";
import { isError, isOfAbort, withoutWrappers } from "../shared/is-error.js";
import { safely } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import { viewOf } from "../shared/views.js";
import { asItIs, untilAborted } from "../shared/waiting.js";
import { commandWithMessages, messagesOfCommand, ownValuesOf, resultIn } from "../threads/commands.js";
import { beginningCall } from "../threads/ended-runs/beginning-call.js";
import { keepUntilSaved } from "../threads/ended-runs/late-results.js";
import { callKeyOf, isReplaySafe } from "../threads/ended-runs/started-calls.js";
import type { OnRepair } from "../threads/events.js";
import { withOwnMemory } from "../threads/langgraph/own-memory.js";
import { patientTool } from "../threads/langgraph/patient-tool.js";
import { isOwnChannel, type Writes } from "../threads/langgraph/read-checkpoints.js";

interface WantedCall {
  readonly id?: string | undefined;
  readonly name: string;
}

interface ToolRequest<Tool> {
  readonly toolCall: WantedCall;
  readonly tool: Tool;
  readonly state: { readonly messages: readonly BaseMessage[] };
}

interface ToolManner {
  /**
   * Whether what the tool throws becomes an error result. If not, it is thrown unchanged, for whatever other middleware
   * does with it.
   */
  readonly keepErrors: boolean;
  readonly onRepair: OnRepair | undefined;
}

/**
 * A tool call's outcome. What comes after the run's abort goes to the thread's next run. So does what a middleware
 * around this one keeps from LangGraph, because it throws or is still at work when the run ends.
 *
 * @param handle Contract: runs the given tool.
 * @throws The reason of the abort, at once.
 * @throws LangGraph's own signals, and what a middleware throws.
 */
export async function runTool<Tool>(
  { toolCall, tool, state: { messages } }: ToolRequest<Tool>,
  config: LangGraphRunnableConfig,
  { keepErrors, onRepair }: ToolManner,
  handle: (tool: Tool) => ToolMessage | Command | Promise<ToolMessage | Command>,
): Promise<ToolMessage | Command> {
  const { signal } = config;
  const head = messages.findLast(isAIMessage);
  const index = head === undefined ? -1 : callsOf(head).findIndex(({ id }) => id === toolCall.id);
  const call = head && callsOf(head)[index];
  const place = head === undefined || call === undefined ? undefined : placeOfCall({ head }, index);
  const own = place === undefined ? tool : prepared(tool, toolCall, place, index);
  const thrown = new Set<unknown>();
  const run = async () => {
    const outcome = await handle(keepErrors ? noting(own, thrown) : own);
    return isCommand(outcome) ? withResult(outcome, toolCall) : outcome;
  };
  const answer = () => (keepErrors ? keepResult(toolCall, thrown, signal, run) : run());
  if (call === undefined || place === undefined) return untilAborted(answer(), signal);
  const beginning = await untilAborted(
    beginningCall(call, place, isReplaySafe(Object(tool)), config, onRepair),
    signal,
  );
  if (beginning.kind === "ended") return withValues(beginning.result, beginning.values);
  await untilAborted(beginning.begin(), signal);
  const outcome = answer().catch(async (error: unknown) => {
    if (interruptsOf(error).length > 0) await beginning.wait();
    throw error;
  });
  keepUntilSaved(place, lateOutcome(outcome, toolCall), config);
  return untilAborted(outcome, signal);
}

/**
 * The command, with a result if it has none for the call: its tool has returned. A command to a parent graph writes
 * there, and not to this thread.
 */
function withResult(command: Command, { id = "", name }: WantedCall): Command {
  if (command.graph !== undefined || resultIn(command, id) !== undefined) return command;
  const result = new ToolMessage({ content: NO_OUTPUT, tool_call_id: id, name, status: "success" });
  return commandWithMessages(command, [...[messagesOfCommand(command) ?? []].flat(), result]);
}

/** A result, with what its tool wrote to other keys. */
function withValues(result: ToolMessage, values: Writes) {
  if (values.length === 0) return result;
  return new Command({ update: { ...Object.fromEntries(values), messages: [result] } });
}

/** A command's result for the call, and what it writes to other keys. */
async function lateOutcome(coming: Promise<ToolMessage | Command>, { id = "" }: WantedCall) {
  const outcome = await coming;
  if (!isCommand(outcome)) return { result: resultIn({ messages: outcome }, id), values: [] };
  return { result: resultIn(outcome, id), values: ownValuesOf(outcome, isOwnChannel) };
}

/**
 * A tool call's outcome, or an error result instead of what the tool threw. The text is LangChain's own for an agent
 * without middleware.
 *
 * @param thrown What the tool threw. A middleware's mistake is not told to the model, which cannot repair it.
 * @throws LangGraph's own signals, what the tool throws because of the abort, and what a middleware throws.
 */
async function keepResult<Outcome>(
  { id, name }: WantedCall,
  thrown: ReadonlySet<unknown>,
  signal: AbortSignal | undefined,
  run: () => Outcome | Promise<Outcome>,
): Promise<Outcome | ToolMessage> {
  try {
    return await run();
  } catch (error) {
    const cause = safely(() => withoutWrappers(error), error);
    if (!thrown.has(schemaErrorIn(cause) ?? cause)) throw error;
    if (safely(() => isLangGraphSignal(cause), false) || isOfAbort(cause, signal)) throw error;
    return new ToolMessage({ content: contentFor(cause), tool_call_id: id ?? "", name, status: "error" });
  }
}

/** The tool, which adds what it throws to a set. */
function noting<Tool>(tool: Tool, thrown: Set<unknown>): Tool {
  return withInvoke(tool, async (invoke, input, config) => {
    try {
      return await invoke(input, config);
    } catch (error) {
      thrown.add(error);
      throw error;
    }
  });
}

/**
 * The tool with its call's key in its runtime, and with its own memory. LangGraph gives all of the agent's tools one
 * memory, which a graph with `checkpointer: true` continues. Only a response's first call has that one, because the
 * others run beside it.
 */
function prepared<Tool>(given: Tool, { name }: WantedCall, place: string, index: number): Tool {
  const tool = isRecord(given) ? patientTool(given) : given;
  return withInvoke(tool, (invoke, input, passed) => {
    const config = index === 0 ? passed : withOwnMemory(passed, `${name}.${index}`);
    const callKey = callKeyOf(config, place);
    return invoke(input, {
      ...config,
      ...(index > 0 && { config }),
      callKey,
      // An agent of LangChain has no limit of time.
      waitForHuman: asItIs,
    } as RunnableConfig);
  });
}

type Invoke = (input: unknown, config: RunnableConfig) => unknown;

/** A view of the tool with another `invoke`. What has none, such as a tool that a provider runs, is returned as it is. */
function withInvoke<Tool>(
  tool: Tool,
  invoke: (own: Invoke, input: unknown, config: RunnableConfig) => unknown,
): Tool {
  const own: unknown = Reflect.get(Object(tool), "invoke");
  if (!isRecord(tool) || typeof own !== "function") return tool;
  return viewOf(tool, {
    invoke: (input: unknown, config: RunnableConfig) =>
      invoke((...given) => Reflect.apply(own, tool, given), input, config),
  });
}

function contentFor(cause: unknown): string {
  // Any value can be thrown, even one that cannot be converted to a string.
  return safely(() => {
    // LangChain's error has a message for the model.
    return schemaErrorIn(cause) === undefined
      ? `${cause}\n Please fix your mistakes.`
      : String(Reflect.get(Object(cause), "message"));
  }, "Error: the tool failed.");
}

/** The error of a tool whose schema refuses the call's arguments, in LangChain's own. Undefined for any other error. */
function schemaErrorIn(error: unknown): unknown {
  const isOfLangChain = isError(error) && Reflect.get(error, "~brand") === "ToolInvocationError";
  return isOfLangChain ? Reflect.get(error, "toolError") : undefined;
}
