/** Reads the current turn: the user's last request, and what has been done for it. */

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { isAIMessage } from "../history/messages/call.js";
import { isResult } from "../history/messages/result.js";
import type { PlannedCall } from "./find-calls.js";

/** One batch of calls and its results, in call order. */
export interface Round {
  readonly calls: readonly PlannedCall[];
  readonly results: readonly ToolMessage[];
}

export interface Turn {
  readonly request: string;
  readonly rounds: readonly Round[];
}

export function readTurn(messages: readonly BaseMessage[]): Turn {
  const start = messages.findLastIndex(isRequest);
  return { request: messages[start]?.text ?? "", rounds: readRounds(messages.slice(start + 1)) };
}

/** All rounds among the messages, including those of earlier turns. */
export function readRounds(messages: readonly BaseMessage[]): Round[] {
  const rounds: { calls: PlannedCall[]; results: ToolMessage[] }[] = [];
  for (const message of messages) {
    if (isAIMessage(message)) {
      const calls = readCalls(message);
      if (calls.length > 0) rounds.push({ calls, results: [] });
    }
    if (isResult(message)) rounds.at(-1)?.results.push(message);
  }
  return rounds;
}

/** A summary is a human message too, by LangChain's convention. It is not a request. */
function isRequest(message: BaseMessage): boolean {
  return message.type === "human" && message.additional_kwargs.lc_source !== "summarization";
}

function readCalls(message: AIMessage): PlannedCall[] {
  const valid = (message.tool_calls ?? []).map(({ name, args }) => ({ name, args }));
  const invalid = (message.invalid_tool_calls ?? []).map(({ name }) => ({
    name: name ?? "unknown tool",
    args: {},
  }));
  return [...valid, ...invalid];
}
