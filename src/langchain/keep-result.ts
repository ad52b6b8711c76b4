import { ToolMessage } from "@langchain/core/messages";
import { isLangGraphSignal } from "../langgraph/is-langgraph-signal.js";
import { isError } from "../shared/is-error.js";
import { safely } from "../shared/safely.js";

export interface WantedCall {
  readonly id?: string | undefined;
  readonly name: string;
}

/**
 * The outcome of a tool call, or an error result in place of what it threw: a throw would end the run, and lose the
 * results of the calls that still run. The text is the one that LangChain uses in an agent without middleware.
 *
 * @throws LangGraph's own signals, and the reason of the run's abort.
 */
export async function keepResult<Outcome>(
  { id, name }: WantedCall,
  signal: AbortSignal | undefined,
  run: () => Outcome | Promise<Outcome>,
): Promise<Outcome | ToolMessage> {
  try {
    return await run();
  } catch (error) {
    if (safely(() => isLangGraphSignal(error), false) || signal?.aborted === true) throw error;
    return new ToolMessage({ content: contentFor(error), tool_call_id: id ?? "", name, status: "error" });
  }
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
