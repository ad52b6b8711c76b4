/**
 * Responses whose only calls cannot be read: their arguments are not the JSON of an object. LangChain does not see such
 * calls, and would end the turn without a word. So the model reads that they were not run, and is asked again.
 */

import { type BaseMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { type Call, callsOf, isAIMessage } from "../history/call.js";
import { toPlain } from "../history/message.js";
import { coerceMessage } from "../history/read-messages.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { withUnusedId } from "../history/reducer/taken-ids.js";
import { refusedArguments } from "../history/result.js";
import { isRecord } from "../shared/values.js";
import { emitEvent } from "../threads/events.js";

/** After this many such responses, the model is asked for a response without calls. `createAgentGraph` does the same. */
const MOST_IN_A_ROW = 3;

/**
 * Asks the model until its calls can be read.
 *
 * @param ask Contract: asks the model with these messages at the end of the history, with or without tools.
 * @returns The last response, and the messages before it: the other responses and their results.
 */
export async function askUntilReadable<Response>(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  ask: (told: readonly BaseMessage[], hasTools: boolean) => Promise<Response>,
): Promise<{ readonly response: Response; readonly told: readonly BaseMessage[] }> {
  const told: BaseMessage[] = [];
  for (let count = 1; ; count += 1) {
    const hasTools = count <= MOST_IN_A_ROW;
    const response = await ask(told, hasTools);
    const message = isRecord(response) ? coerceMessage(response) : undefined;
    const calls = message === undefined ? [] : unreadableCalls(message);
    if (message === undefined || calls.length === 0 || !hasTools) return { response, told };
    const fresh = withUnusedId(message, reduceMessages(history, told).messages);
    told.push(fresh, ...calls.map(refusal));
    if (count === MOST_IN_A_ROW)
      emitEvent(config, { type: "limit-reached", limit: "max-consecutive-errors" });
  }
}

interface UnreadableCall extends Call {
  readonly error: string;
}

/** The message's calls, if none of them can be read. */
function unreadableCalls(message: BaseMessage): readonly UnreadableCall[] {
  if (!isAIMessage(message) || (message.tool_calls ?? []).length > 0) return [];
  const { invalid_tool_calls: invalid = [] } = message;
  const calls = callsOf(message);
  if (!calls.every(({ kind }) => kind === "invalid")) return [];
  return calls.map((call, index) => ({ ...call, error: invalid[index]?.error ?? "they are not valid JSON" }));
}

function refusal({ id, name, error }: UnreadableCall): ToolMessage {
  const content = refusedArguments(name, id === "" ? "the call has no id" : error);
  return new ToolMessage({ content, tool_call_id: id, name, status: "error" });
}

/**
 * The messages to write beside a response, so that it stands after what was told. LangChain writes the response first,
 * so it is taken out again.
 */
export function inOrder(response: unknown, told: readonly BaseMessage[]) {
  if (told.length === 0 || !isRecord(response)) return [];
  const { id } = response;
  if (typeof id !== "string") return told;
  // Plain objects are not streamed.
  return [toPlain(new RemoveMessage({ id })), ...told, response];
}
