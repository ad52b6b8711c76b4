import type { BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { isUserMessage } from "../../history/messages/summary.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import type { ChatContext } from "../../middleware/chat-context.js";
import type { AgentUpdate } from "../run/agent-state.js";
import type { Dispatched } from "./dispatch-calls.js";

/**
 * The write of the model node with what chat middleware has written. The turn goes on, even if a middleware wrote a
 * message of the user: else each such message would begin a turn with new limits. A message of the inbox begins one.
 *
 * @param reducedKeys The keys that combine the values that are written to them.
 */
export function mergeUpdates(
  dispatched: Dispatched,
  updates: ChatContext["updates"],
  history: readonly BaseMessage[],
  reducedKeys: ReadonlySet<string>,
): Dispatched {
  if (updates.length === 0) return dispatched;
  const { update, goto } = dispatched.command;
  const own = update as AgentUpdate | undefined;
  const written = (own?.messages ?? []) as BaseMessage[];
  const messagesOf = (isAfter: boolean) =>
    updates.flatMap((given) => (given.isAfter === isAfter ? given.messages : []));
  const messages = [...messagesOf(false), ...written, ...messagesOf(true)];
  const startedBy = reduceMessages(history, messages).messages.findLast(isUserMessage)?.id;
  const goesOn = own?.turn !== undefined && !written.some(isUserMessage);
  const merged = {
    ...Object.assign({}, ...updates.map(({ fields }) => fieldsIn(fields, (key) => !reducedKeys.has(key)))),
    ...own,
    messages,
    ...(goesOn && { turn: { ...own.turn, startedBy } }),
  };
  const combined = updates.map(({ fields }) => fieldsIn(fields, (key) => reducedKeys.has(key)));
  return {
    ...dispatched,
    command: new Command({ update: merged, ...(goto !== undefined && { goto }) }),
    combined: [
      ...(dispatched.combined ?? []),
      ...combined.filter((fields) => Object.keys(fields).length > 0),
    ],
  };
}

function fieldsIn(fields: Readonly<Record<string, unknown>>, isWanted: (key: string) => boolean) {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => isWanted(key)));
}
