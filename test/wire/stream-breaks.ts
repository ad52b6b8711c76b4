/** How the streams of each protocol break in the tests. */

import type { ProviderName } from "../support/strict-provider/start-strict-provider.js";
import {
  atLimit,
  type Break,
  beforeFinish,
  inArguments,
  inEvent,
  malformedCall,
  mistralAtLimit,
  wholeAtLimit,
  withoutReason,
} from "../support/strict-provider/stream-cuts.js";

const IN_PIECES = {
  "before the finish reason": beforeFinish,
  "in the middle of the arguments": inArguments,
  "within an event": inEvent,
  "at the token limit, in a call": atLimit,
} as const satisfies Record<string, Break>;

/** How the streamed tool calls of each protocol break. */
export const CALL_BREAKS: Readonly<Partial<Record<ProviderName, Readonly<Record<string, Break>>>>> = {
  anthropic: IN_PIECES,
  "openai-responses": IN_PIECES,
  deepseek: IN_PIECES,
  "dashscope-native": IN_PIECES,
  dashscope: IN_PIECES,
  mistral: {
    "before the finish reason": beforeFinish,
    "without a finish reason": withoutReason,
    "within an event": inEvent,
    "at the token limit, in a call": mistralAtLimit,
    "at the token limit, after a call": wholeAtLimit,
  },
  gemini: {
    "before the finish reason": beforeFinish,
    "without a finish reason": withoutReason,
    "within an event": inEvent,
    "at the token limit, after a call": wholeAtLimit,
    "with a malformed call": malformedCall,
  },
};

export const BREAK_ROWS = Object.entries(CALL_BREAKS).flatMap(([provider, breaks]) =>
  Object.entries(breaks ?? {}).flatMap(([title, broken]) =>
    (["call", "answer"] as const)
      .filter((at) => at === "call" || broken === beforeFinish || broken === inEvent)
      .map((at) => ({ provider: provider as ProviderName, title, broken, at })),
  ),
);
