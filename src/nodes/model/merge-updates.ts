import type { BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { isUserMessage } from "../../history/messages/summary.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import type { ChatContext } from "../../middleware/chat-context.js";
import type { AgentUpdate } from "../run/agent-state.js";
import type { Dispatched } from "./dispatch-calls.js";

/**
 * The write of the model node with what chat middleware has written. The turn goes on, even if a middleware wrote a
 * message of the user: else each such message would begin a turn with new limits.
 */
export function mergeUpdates(
  dispatched: Dispatched,
  updates: ChatContext["updates"],
  history: readonly BaseMessage[],
): Dispatched {
  if (updates.length === 0) return dispatched;
  const { update, goto } = dispatched.command;
  const own = update as AgentUpdate | undefined;
  const messagesOf = (isAfter: boolean) =>
    updates.flatMap((written) => (written.isAfter === isAfter ? written.messages : []));
  const messages = [...messagesOf(false), ...((own?.messages ?? []) as BaseMessage[]), ...messagesOf(true)];
  const startedBy = reduceMessages(history, messages).messages.findLast(isUserMessage)?.id;
  const merged = {
    ...Object.assign({}, ...updates.map(({ fields }) => fields)),
    ...own,
    messages,
    ...(own?.turn !== undefined && { turn: { ...own.turn, startedBy } }),
  };
  return { ...dispatched, command: new Command({ update: merged, ...(goto !== undefined && { goto }) }) };
}
