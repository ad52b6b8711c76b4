import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { countTextTokens } from "../../history/long-threads/count-tokens.js";
import { filterToolCalls } from "../../history/long-threads/filter-tool-calls.js";
import { shortenResults } from "../../history/long-threads/shorten-results.js";
import { flattenVisible, visibleHistory } from "../../history/long-threads/visible-history.js";
import { isMessage } from "../../history/messages/coerce-message.js";
import { assertList, readMessages } from "../../history/messages/read-messages.js";
import { coverageOf } from "../../history/messages/summary.js";
import { repairHistory } from "../../history/reducer/repair-history.js";
import { type DialectName, dialectNamed } from "../dialects/dialects.js";
import { reasoningOf } from "../dialects/reasoning-field.js";
import { projectMessages } from "./project-messages.js";
import { plainRoles } from "./projection/plain-roles.js";

/** The options of `toModelInput`. */
export interface ModelInputOptions {
  /** Instructions that are placed before the conversation. */
  readonly systemPrompt?: string | undefined;
  /** How many tool calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: number | undefined;
  /** Tool results are shortened until the messages have at most this many estimated tokens. @default no limit */
  readonly maxTokens?: number | undefined;
  /** The rules of the provider that gets the request. @default "strict", which every provider accepts */
  readonly dialect?: DialectName | undefined;
  /** The name of the model that gets the request. State that only another model can read is not sent to it. */
  readonly modelId?: string | undefined;
}

/**
 * Makes the messages of one model request from the history. Summaries replace the messages that they cover.
 * Every tool call has its result. Calls of earlier turns are left out beyond the limit. All system messages
 * are joined into one at the front. Anything that a provider of the dialect would refuse is changed to a form
 * that it accepts, so {@link validateHistory} finds nothing in it. Long results are shortened if a budget
 * requires it. The history is not changed.
 *
 * @throws InvalidSettingError for an unknown dialect.
 * @throws InvalidMessageError if `history` is not a list.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { toModelInput } from "langgraph-tether";
 *
 * const history = [
 *   new AIMessage({ content: "", tool_calls: [{ id: "call:1", name: "weather", args: {} }] }),
 *   new HumanMessage("Are you there?"),
 * ];
 * const input = toModelInput(history, { systemPrompt: "Be brief.", dialect: "openai" });
 * console.log(input.map((message) => message.type)); // [ 'system', 'ai', 'tool', 'human' ]
 * ```
 */
export function toModelInput(
  history: readonly BaseMessage[],
  options: ModelInputOptions = {},
): BaseMessage[] {
  const { systemPrompt, maxToolCallsFromHistory, maxTokens, dialect = "strict", modelId } = options;
  assertList(history);
  const messages = readable(history);
  const visible = hasSummary(messages) ? flattenVisible(visibleHistory(messages)) : messages;
  const paired = repairHistory(plainRoles(visible)).messages;
  const filtered =
    maxToolCallsFromHistory === undefined ? paired : filterToolCalls(paired, maxToolCallsFromHistory);
  const input = withSystemFirst(filtered, systemPrompt);
  const projected = projectMessages(input, { dialect: dialectNamed(dialect), modelId }) as BaseMessage[];
  // Last, so that the texts that the projection adds count too.
  return maxTokens === undefined
    ? projected
    : shortenResults(projected, maxTokens - reasoningTokens(projected));
}

/** The tokens of reasoning that is sent back in its own field. */
function reasoningTokens(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + countTextTokens(reasoningOf(message) ?? ""), 0);
}

/** Values that are not messages are left out. */
function readable(history: readonly BaseMessage[]): readonly BaseMessage[] {
  return [...history].every(isMessage) ? history : readMessages(history, () => {});
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
