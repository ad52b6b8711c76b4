/** Long histories in short notation. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { SummaryPolicy } from "../../src/history/plan-summary.js";
import { countTokens } from "../../src/history/size.js";
import { countTextTokens } from "../../src/history/text-tokens.js";

/** A text that begins with its name and has this many tokens, by our estimate. */
export function textOf(tokens: number, name = ""): string {
  return `${name}${" word".repeat(Math.max(tokens - countTextTokens(name), 0))}`;
}

export const humanOf = (id: string, tokens = 10) => new HumanMessage({ id, content: textOf(tokens, id) });

export const aiOf = (id: string, tokens = 10) => new AIMessage({ id, content: textOf(tokens, id) });

/** A message with one call for each id, followed by results of this many tokens. */
export function stepOf(id: string, resultTokens: number, ...callIds: string[]): BaseMessage[] {
  const ids = callIds.length > 0 ? callIds : [`call-${id}`];
  return [
    new AIMessage({
      id,
      content: "",
      tool_calls: ids.map((callId) => ({ id: callId, name: "look", args: { at: id } })),
    }),
    ...ids.map(
      (callId, index) =>
        new ToolMessage({
          id: `${id}-result-${index}`,
          name: "look",
          tool_call_id: callId,
          content: textOf(resultTokens, `found-${id}-${index}`),
        }),
    ),
  ];
}

/** Turns of a request, one round, and a final response. */
export function turnsOf(count: number, resultTokens = 10): BaseMessage[] {
  return Array.from({ length: count }, (_, turn) => [
    humanOf(`h${turn}`),
    ...stepOf(`s${turn}`, resultTokens),
    aiOf(`a${turn}`),
  ]).flat();
}

/** Plain messages of the user and of the model in turn, `m0`, `m1` and so on, of 60 tokens each. */
export const talkOf = (count: number) =>
  Array.from({ length: count }, (_, turn) => ({
    id: `m${turn}`,
    role: turn % 2 === 0 ? "user" : "assistant",
    content: textOf(60, `m${turn}`),
  }));

export function tokensOf(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + countTokens(message), 0);
}

export function policyOf(policy: Partial<SummaryPolicy> = {}): SummaryPolicy {
  return {
    maxTokensBeforeSummary: 1000,
    maxMessagesBeforeSummary: 0,
    messagesToKeep: 4,
    tokensToKeep: undefined,
    toolTokens: 0,
    promptTokens: 0,
    maxToolCalls: undefined,
    ...policy,
  };
}

export const textsOf = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** Removes all white space, so that a text is found even if it was split into pieces. */
export const squeeze = (text: string) => text.replaceAll(/\s+/g, "");
