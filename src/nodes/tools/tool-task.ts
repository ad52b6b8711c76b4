/** One call, on its way from the model node to its task of the tools node. JSON: it is stored in the checkpoint. */

import type { AIMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "../../history/messages/call.js";
import { isRecord } from "../../shared/is-record.js";

export interface ToolTask {
  readonly call: Call;
  /** Which of its message's calls it is. */
  readonly index: number;
  /** Tells the call apart from every other of its thread: the id of its message, and which of its calls it is. */
  readonly place: string;
  /** The parsed arguments; undefined for a call whose arguments are not valid JSON. */
  readonly args: Record<string, unknown> | undefined;
  /** What the provider's parser said of invalid arguments. */
  readonly parseError: string | undefined;
}

/** One task for each call of the message, in call order. */
export function toolTasksOf(message: AIMessage): ToolTask[] {
  const valid = message.tool_calls ?? [];
  const invalid = message.invalid_tool_calls ?? [];
  return callsOf(message).map((call, index) => ({
    call,
    index,
    place: `${message.id ?? ""}:${index}`,
    args: valid[index]?.args,
    parseError: invalid[index - valid.length]?.error,
  }));
}

export function isToolTask(value: unknown): value is ToolTask {
  if (!isRecord(value)) return false;
  const { call, index, place } = value;
  return isRecord(call) && typeof index === "number" && typeof place === "string";
}
