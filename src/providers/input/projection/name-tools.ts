/**
 * Rewrites the names of called tools into a form that the provider accepts, and gives each result the name of its
 * call.
 *
 * A model may call a tool that does not exist, with spaces or dots in the name, and the history keeps this call.
 * Gemini matches results to calls by name.
 */

import type { BaseMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isResult } from "../../../history/messages/result.js";
import type { Step } from "./step.js";

const LONGEST_NAME = 64;
const NAMELESS = "unnamed_tool";
const MESSAGE_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export const nameTools: Step = ({ dialect }) => {
  let calls: readonly ToolCall[] = [];
  let answered = 0;
  return (message) => {
    if (isResult(message)) {
      const name = calls[answered]?.name;
      answered += 1;
      if (!hasName(message) || message.name === name || name === undefined) return message;
      return copyMessage(message, { name });
    }
    const named = withLegalName(message);
    if (!isAIMessage(named)) return named;
    answered = 0;
    calls = named.tool_calls ?? [];
    if (calls.every(({ name }) => dialect.toolName.test(name))) return named;
    calls = calls.map((call) => ({ ...call, name: toLegalName(call.name, dialect.toolName) }));
    return copyMessage(named, { tool_calls: [...calls] });
  };
};

function toLegalName(name: string, legal: RegExp): string {
  if (legal.test(name)) return name;
  const replaced = name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, LONGEST_NAME) || NAMELESS;
  return legal.test(replaced) ? replaced : `_${replaced}`.slice(0, LONGEST_NAME);
}

function hasName({ name }: BaseMessage): boolean {
  return name !== undefined && name !== null;
}

/** The name of an agent or a user. Some providers check it too. */
function withLegalName(message: BaseMessage): BaseMessage {
  if (!hasName(message) || MESSAGE_NAME.test(String(message.name))) return message;
  return copyMessage(message, { name: toLegalName(String(message.name), MESSAGE_NAME) });
}
