import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Command, isCommand } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/messages/call.js";
import { callIdOf, isResult } from "../history/messages/result.js";
import { isLangGraphSignal } from "../langgraph/is-langgraph-signal.js";
import { isSaver } from "../langgraph/replace-methods.js";
import { inheritedCheckpointer } from "../langgraph/run-host.js";
import { unbatched } from "../langgraph/stores.js";
import { awaitLate, type LateResults, lateResultsOf } from "../nodes/recovery/late-results.js";
import { messagesOf } from "../nodes/tools/command-with-messages.js";
import { isError, isOfAbort } from "../shared/is-error.js";
import { safely } from "../shared/safely.js";
import { untilAborted } from "../shared/until-aborted.js";
import { configOf, type HookRuntime, threadIdOf } from "./runtime.js";

export interface WantedCall {
  readonly id?: string | undefined;
  readonly name: string;
}

/**
 * The outcome of a tool call, or an error result in place of what it threw: a throw would end the run, and lose the
 * results of the calls that still run. The text is the one that LangChain uses in an agent without middleware.
 *
 * @throws LangGraph's own signals, and what the tool throws because of the abort.
 */
export async function keepResult<Outcome>(
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
 * The outcome of a tool call. What comes after the abort of the run goes to the next run of the thread.
 *
 * @throws The reason of the abort, at once, and what the call throws.
 */
export async function keepLate(
  { id = "" }: WantedCall,
  messages: readonly BaseMessage[],
  runtime: HookRuntime,
  run: () => Promise<ToolMessage | Command>,
): Promise<ToolMessage | Command> {
  const { signal } = runtime;
  if (signal === undefined) return run();
  const answered = run();
  try {
    return await untilAborted(answered, signal);
  } catch (error) {
    const head = messages.findLast(isAIMessage);
    const index = head === undefined ? -1 : callsOf(head).findIndex((call) => call.id === id);
    if (signal.aborted && index >= 0) {
      const coming = answered.then((outcome) => ({ result: resultIn(outcome, id), values: [] }));
      awaitLate(`${head?.id}:${index}`, coming, lateResultsIn(runtime), threadIdOf(runtime));
    }
    throw error;
  }
}

function resultIn(outcome: ToolMessage | Command, callId: string): ToolMessage | undefined {
  const messages = isCommand(outcome) ? messagesOf(outcome) : [outcome];
  return messages.filter(isResult).find((result) => callIdOf(result) === callId);
}

/** Undefined for an agent inside another graph, and without a checkpointer. */
export function lateResultsIn(runtime: HookRuntime): LateResults | undefined {
  const { configurable } = configOf(runtime);
  const saver = inheritedCheckpointer({ ...(configurable && { configurable }) });
  const threadId = threadIdOf(runtime);
  const isInside = String(configurable?.["checkpoint_ns"] ?? "").includes("|");
  if (!isSaver(saver) || threadId === undefined || isInside) return undefined;
  const store = runtime.store == null ? undefined : unbatched(runtime.store);
  return lateResultsOf({ saver, threadId, namespace: "", store });
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
