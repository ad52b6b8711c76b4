/** Short histories of calls and results, as a provider's client may be handed them. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";

export const userMessage = (text = "go on") => new HumanMessage(text);
export const result = (id: string, content = "ok") =>
  new ToolMessage({ content, tool_call_id: id, name: "read" });
export const calls = (...ids: readonly string[]) => callsOf({ ids });

export function callsOf({ ids, name = "read", args = {}, ...fields }: CallFields): AIMessage {
  const tool_calls = ids.map((id) => ({ id, name, args, type: "tool_call" as const }));
  return new AIMessage({ content: "", ...fields, tool_calls });
}

export interface CallFields {
  readonly ids: readonly string[];
  readonly name?: string;
  readonly args?: Record<string, unknown>;
  readonly content?: AIMessage["content"];
  readonly additional_kwargs?: Record<string, unknown>;
  readonly response_metadata?: Record<string, unknown>;
}
