import type { ToolCall } from "@langchain/core/messages/tool";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { readHistory } from "../../langgraph/read-history.js";
import type { RunContext } from "../../settings/run-context.js";
import { withDeadline } from "../run/with-deadline.js";

export class ToolTimeoutError extends Error {
  override readonly name = "ToolTimeoutError";
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`The tool did not finish within ${milliseconds} ms.`);
    this.milliseconds = milliseconds;
  }
}

/**
 * Invokes a tool with the runtime that LangChain's tools expect: the config, and in it state, store, context, writer
 * and the id of the call. The tool's signal aborts with the run or at the timeout; a tool that does not heed it is not
 * waited for.
 *
 * @throws ToolTimeoutError, what the tool throws, or the reason of the run's abort.
 */
export async function runTool(
  tool: StructuredToolInterface,
  call: ToolCall & { type: "tool_call" },
  config: LangGraphRunnableConfig<RunContext>,
  timeoutMs: number | undefined,
): Promise<unknown> {
  return withDeadline(
    (signal) =>
      tool.invoke(call, {
        ...config,
        signal,
        config,
        state: readHistory(config),
        toolCall: call,
        toolCallId: call.id ?? "",
        writer: config.writer ?? null,
        store: config.store ?? null,
      }),
    {
      signal: config.signal,
      timeoutMs,
      timeoutError: (milliseconds) => new ToolTimeoutError(milliseconds),
    },
  );
}
