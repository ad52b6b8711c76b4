/**
 * A hand-off: a tool returns a `Command` to the parent graph. LangGraph then ends this graph and drops what the batch's
 * other calls returned. So the command takes their messages along.
 */

import { Command, isCommand } from "@langchain/langgraph";
import { callsOf } from "../../history/call.js";
import { callIdOf, isResult } from "../../history/result.js";
import { commandWithMessages, messagesAmong, messagesOf, messagesOfCommand } from "../../threads/commands.js";
import type { ToolsUpdate } from "../../threads/state.js";

export function isHandOff(update: ToolsUpdate): boolean {
  return [update].flat().some(goesToParent);
}

function goesToParent(update: unknown): update is Command {
  return isCommand(update) && update.graph === Command.PARENT;
}

/**
 * The hand-off with its batch's messages: results in call order after the message with the calls, then all others. A
 * command without that message stays as it is, because the parent graph would have no calls for the results.
 *
 * @param callId The id of the call that handed off.
 * @param batch The updates of all calls in the batch.
 */
export function withBatch(update: ToolsUpdate, callId: string, batch: readonly ToolsUpdate[]): ToolsUpdate {
  const updates = [update].flat().map((one) => (goesToParent(one) ? joined(one, callId, batch) : one));
  return updates.length === 1 ? (updates[0] ?? update) : updates;
}

function joined(command: Command, callId: string, batch: readonly ToolsUpdate[]): Command {
  const messages = messagesAmong(messagesOfCommand(command));
  const head = messages.findLastIndex((message) => callsOf(message).some(({ id }) => id === callId));
  const asking = messages[head];
  if (asking === undefined) return command;
  const followers = messages.slice(head + 1);
  const written = [...followers, ...batch.flatMap(messagesOf)].filter(isResult);
  // The first of several results counts.
  const byCall = new Map(written.toReversed().map((result) => [callIdOf(result), result]));
  const results = callsOf(asking).flatMap(({ id }) => byCall.get(id) ?? []);
  const others = batch.filter((other) => !isHandOff(other)).flatMap(messagesOf);
  return commandWithMessages(command, [
    ...messages.slice(0, head + 1),
    ...results,
    ...[...others, ...followers].filter((message) => !isResult(message) && message.type !== "remove"),
  ]);
}
