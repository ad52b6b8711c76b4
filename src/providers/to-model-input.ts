import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { filterToolCalls } from "../history/filter-tool-calls.js";
import { repairHistory } from "../history/repair-history.js";

export interface ModelInputOptions {
  /** Instructions that stand before the conversation. */
  readonly systemPrompt?: string | undefined;
  /** How many calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: number | undefined;
}

/**
 * What one model request is sent: derived from the history, never stored. Every call has its result, old calls are
 * left out, and all system messages stand at the front as one.
 */
export function toModelInput(
  history: readonly BaseMessage[],
  options: ModelInputOptions = {},
): BaseMessage[] {
  const { systemPrompt, maxToolCallsFromHistory } = options;
  const paired = repairHistory(history).messages;
  const filtered =
    maxToolCallsFromHistory === undefined ? paired : filterToolCalls(paired, maxToolCallsFromHistory);
  return withSystemFirst(filtered, systemPrompt);
}

function withSystemFirst(messages: BaseMessage[], systemPrompt: string | undefined): BaseMessage[] {
  const stored = messages.filter((message) => message.type === "system");
  if (systemPrompt === undefined || systemPrompt.trim() === "") {
    if (stored.length === 0 || (stored.length === 1 && messages[0] === stored[0])) return messages;
  }
  const parts = [systemPrompt ?? "", ...stored.map((message) => message.text)].filter(
    (text) => text.trim() !== "",
  );
  const rest = messages.filter((message) => message.type !== "system");
  return parts.length === 0 ? rest : [new SystemMessage(parts.join("\n\n")), ...rest];
}
