/** What a response of the model says in the format: a structured response, or what is wrong with it. */

import type { AIMessage } from "@langchain/core/messages";
import {
  MultipleStructuredOutputsError,
  StructuredOutputParsingError,
} from "../../settings/format/format-errors.js";
import type { CheckedResponse, Format } from "../../settings/format/response-schema.js";
import { isError } from "../../shared/is-error.js";
import { type ToolTask, toolTasksOf } from "../tools/tool-task.js";

/** The calls of a response, divided by what they are for. */
export interface FormatCalls {
  /** Calls of the format's tools. */
  readonly structured: readonly ToolTask[];
  readonly others: readonly ToolTask[];
}

export function divideCalls(message: AIMessage, formats: readonly Format[]): FormatCalls {
  const names = new Set(formats.map(({ name }) => name));
  const tasks = toolTasksOf(message);
  return {
    structured: tasks.filter(({ call }) => names.has(call.name)),
    others: tasks.filter(({ call }) => !names.has(call.name)),
  };
}

export type CheckedCalls =
  | { readonly kind: "right"; readonly value: unknown }
  | {
      readonly kind: "wrong";
      readonly error: StructuredOutputParsingError | MultipleStructuredOutputsError;
    };

/** Checks the structured calls of one response. Only one is allowed. */
export async function checkCalls(
  structured: readonly ToolTask[],
  formats: readonly Format[],
): Promise<CheckedCalls> {
  const [task, ...others] = structured;
  if (task === undefined || others.length > 0)
    return {
      kind: "wrong",
      error: new MultipleStructuredOutputsError(structured.map(({ call }) => call.name)),
    };
  const { call, args, parseError } = task;
  const format = formats.find(({ name }) => name === call.name);
  const isSound = args !== undefined && format !== undefined && call.id !== "";
  const checked: CheckedResponse = isSound
    ? await format.check(args)
    : {
        kind: "wrong",
        errors: [call.id === "" ? "the call has no id" : (parseError ?? "it is not valid JSON")],
      };
  if (checked.kind === "right") return checked;
  return { kind: "wrong", error: new StructuredOutputParsingError(call.name, checked.errors) };
}

/** Checks a text in JSON. Some models put it into a Markdown block. */
export async function checkText(message: AIMessage, format: Format): Promise<CheckedResponse> {
  const text = message.text.trim();
  const [, block] = /^```(?:json)?\s*\n([\s\S]*?)\n\s*```$/.exec(text) ?? [];
  try {
    return format.check(JSON.parse(block ?? text));
  } catch (error) {
    return { kind: "wrong", errors: [`the text is not valid JSON: ${isError(error) ? error.message : "?"}`] };
  }
}
