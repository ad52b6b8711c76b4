/** What the model node sends to the tools node for one tool call. It is JSON, because checkpoints store it. */

import type { AIMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "../../history/messages/call.js";
import { isRecord } from "../../shared/is-record.js";

export interface ToolTask {
  readonly call: Call;
  /** The position of the call among the calls of its message, from 0. */
  readonly index: number;
  /** Distinguishes the call from every other in its thread: the id of its message, and `index`. */
  readonly place: string;
  /** The parsed arguments; undefined for a call whose arguments are not valid JSON. */
  readonly args: Record<string, unknown> | undefined;
  /** The tools that the model was offered, for a call of another one. Such a call is not run. */
  readonly offered?: readonly string[] | undefined;
  /** The error of the parser, for invalid arguments. */
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
