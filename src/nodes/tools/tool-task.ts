/** What the model node sends to the tools node for one tool call. It is JSON, because checkpoints store it. */

import type { AIMessage } from "@langchain/core/messages";
import { argumentsOf, type Call, callsOf } from "../../history/messages/call.js";
import { isRecord } from "../../shared/is-record.js";
import { parseJson } from "../../shared/parse-json.js";

export interface ToolTask {
  readonly call: Call;
  /** The position of the call among the calls of its message, from 0. */
  readonly index: number;
  /** Distinguishes the call from every other in its thread: the id of its message, and `index`. */
  readonly place: string;
  /** How many calls before it in its message are of the same tool. Undefined: none. */
  readonly repeats?: number | undefined;
  /** The parsed arguments; undefined for a call whose arguments are not valid JSON. */
  readonly args: Record<string, unknown> | undefined;
  /** The tools that the model was offered, for a call of another one. Such a call is not run. */
  readonly offered?: readonly string[] | undefined;
  /** The error of the parser, for invalid arguments. */
  readonly parseError: string | undefined;
}

/** One task for each call of the message, in call order. */
export function toolTasksOf(message: AIMessage): ToolTask[] {
  const written = argumentsOf(message);
  const valid = message.tool_calls ?? [];
  const invalid = message.invalid_tool_calls ?? [];
  const counts = new Map<string, number>();
  return callsOf(message).map((call, index) => {
    const repeats = counts.get(call.name) ?? 0;
    counts.set(call.name, repeats + 1);
    return {
      call,
      index,
      place: `${message.id ?? ""}:${index}`,
      ...(repeats > 0 && { repeats }),
      args: call.kind === "valid" ? readArguments(written[index]) : undefined,
      parseError: invalid[index - valid.length]?.error,
    };
  });
}

/** Calls that are not in `tool_calls` can have the JSON of their arguments. */
function readArguments(written: unknown): ToolTask["args"] {
  const args = typeof written === "string" ? parseJson(written) : written;
  return isRecord(args) ? args : undefined;
}

export function isToolTask(value: unknown): value is ToolTask {
  if (!isRecord(value)) return false;
  const { call, index, place } = value;
  return isRecord(call) && typeof index === "number" && typeof place === "string";
}
