import type { BaseMessage } from "@langchain/core/messages";
import { MARKS } from "./marks.js";

/**
 * Whether the message came through the inbox in the middle of a turn, so that it is about the work of that turn. After a
 * response without calls such a message begins a turn.
 */
export function joinsTurn(messages: readonly BaseMessage[], index: number): boolean {
  const before = messages[index - 1];
  const isSteered = messages[index]?.additional_kwargs?.[MARKS.steered] !== undefined;
  return isSteered && before !== undefined && before.type !== "ai";
}
