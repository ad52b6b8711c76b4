import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { filterToolCalls } from "../history/filter-tool-calls.js";
import { repairHistory } from "../history/repair-history.js";
import { shortenResults } from "../history/shorten-results.js";
import { coverageOf } from "../history/summary.js";
import { flattenVisible, visibleHistory } from "../history/visible-history.js";

export interface ModelInputOptions {
  /** Instructions that stand before the conversation. */
  readonly systemPrompt?: string | undefined;
  /** How many calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: number | undefined;
  /** Results are shortened until the messages have at most so many estimated tokens. @default no limit */
  readonly maxTokens?: number | undefined;
}

/**
 * What one model request is sent: derived from the history, never stored. A summary stands for what it covers, every
 * call has its result, old calls are left out, long results are shortened where a budget demands it, and all system
 * messages stand at the front as one.
 */
export function toModelInput(
  history: readonly BaseMessage[],
  options: ModelInputOptions = {},
): BaseMessage[] {
  const { systemPrompt, maxToolCallsFromHistory, maxTokens } = options;
  const visible = hasSummary(history) ? flattenVisible(visibleHistory(history)) : history;
  const paired = repairHistory(visible).messages;
  const filtered =
    maxToolCallsFromHistory === undefined ? paired : filterToolCalls(paired, maxToolCallsFromHistory);
  const input = withSystemFirst(filtered, systemPrompt);
  return maxTokens === undefined ? input : shortenResults(input, maxTokens);
}

function hasSummary(history: readonly BaseMessage[]): boolean {
  return history.some((message) => coverageOf(message) !== undefined);
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
