/** Helpers to write to a thread and to read its messages as lines, after a check. */

import { type AIMessage, type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { stateViolations, strictViolations } from "./strict-check.js";

/** An object with messages: the `values` of a state, or the result of a run. */
interface Holder {
  readonly messages?: unknown;
}

/** The messages of a state, local or from a server. It throws if they break a rule of states. */
export function messagesOf(values: unknown): BaseMessage[] {
  const { messages } = values as Holder;
  if (!Array.isArray(messages)) throw new Error(`Expected messages, got ${JSON.stringify(values)}`);
  const list = messages.map((message) => coerceMessageLikeToMessage(message));
  const violations = stateViolations(list);
  if (violations.length > 0) throw new Error(violations.join("\n"));
  return list;
}

/** The same for a state in which no call waits, so that every provider accepts it. */
export function pairedMessagesOf(values: unknown): BaseMessage[] {
  const list = messagesOf(values);
  const violations = strictViolations(list);
  if (violations.length > 0) throw new Error(violations.join("\n"));
  return list;
}

/** One line for each message: `human: text`, `ai: text`, `ai> name name`, `tool: text`, `tool! text` for an error. */
export function script(messages: readonly BaseMessage[]): string[] {
  return messages.map((message) => {
    const { tool_calls = [], invalid_tool_calls = [] } = message as AIMessage;
    const names = [...tool_calls, ...invalid_tool_calls].map(({ name }) => name);
    if (message.type === "ai" && names.length > 0) return `ai> ${names.join(" ")}`;
    const mark = Reflect.get(message, "status") === "error" ? "!" : ":";
    return `${message.type}${mark} ${message.text}`;
  });
}

/** The lines of a state in which no call waits. */
export function pairedScript(values: unknown): string[] {
  return script(pairedMessagesOf(values));
}

/** The input of a run: one message of the user. */
export const user = (content: string, id?: string) => ({
  messages: [{ role: "user", content, ...(id !== undefined && { id }) }],
});

/** The config of a run in a thread. */
export const inThread = (thread_id: string) => ({ configurable: { thread_id } });
