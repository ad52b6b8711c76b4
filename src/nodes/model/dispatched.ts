/** What can follow a response that has no calls to dispatch. */

import type { BaseMessage } from "@langchain/core/messages";
import { Command, END } from "@langchain/langgraph";
import type { TakenMessages } from "../inbox/take-messages.js";
import type { AgentUpdate, Turn } from "../run/agent-state.js";
import type { Dispatched } from "./dispatch-calls.js";

/** The run ends for now, and another node or run goes on. */
export function wait(): Dispatched {
  return { command: new Command({ goto: END }), refused: 0, isEnd: false };
}

/**
 * The messages are written before the model is asked, so that they stay if it fails.
 *
 * @param values Further updates of own keys, in order.
 */
export function goOn({ values = [], ...update }: AgentUpdate & Pick<TakenMessages, "values">): Dispatched {
  return { command: new Command({ update, goto: "model" }), refused: 0, isEnd: false, combined: values };
}

export function endWith(
  messages: readonly BaseMessage[],
  turn?: Turn,
  structuredResponse?: unknown,
): Dispatched {
  const update = {
    messages: [...messages],
    ...(turn !== undefined && { turn }),
    ...(structuredResponse !== undefined && { structuredResponse }),
  };
  return { command: new Command({ update, goto: END }), refused: 0, isEnd: true };
}
