/** The ways in which the responses of each protocol break: the events of a stream, or the part of a body, that still arrive. */

import type { ProviderName } from "./start-strict-provider.js";

type Cut = (events: readonly string[]) => readonly string[];

export interface Break {
  readonly events: Cut;
  /** The same in one piece. Undefined: only streams break like this. */
  readonly body?: (text: string) => string;
}

const FINISH = /"finish_reason":"(?!null)|"stop_reason":"|"type":"response\.completed"|"finishReason":"/;
const ARGUMENTS = /"arguments":"(?!")|"partial_json":"|"type":"response\.function_call_arguments\.delta"/;

const finishOf = (events: readonly string[]) => events.findIndex((event) => FINISH.test(event));

/** Up to the piece before the last one of the last call's arguments. A stream that ends there has an incomplete call. */
const inArguments: Cut = (events) => {
  const isEnd = (event: string) => /response\.(?:function_call_arguments|output_item)\.done/.test(event);
  const pieces = events.filter((event) => !isEnd(event));
  return pieces.slice(
    0,
    pieces.findLastIndex((event) => ARGUMENTS.test(event)),
  );
};

const toFinish: Cut = (events) => events.slice(0, finishOf(events));
/** The connection ends within the body. */
const half = (text: string) => text.slice(0, text.length / 2);

export const beforeFinish: Break = { events: toFinish, body: half };

/** For protocols that send complete calls, in the event that also has the finish reason. */
export const withoutReason: Break = {
  events: (events) =>
    events.map((event) =>
      event.replace(/,"finishReason":"\w+"/, "").replace(/"finish_reason":"\w+"/, '"finish_reason":null'),
    ),
};

/** The connection ends in the middle of an event. */
const inEvent: Break = {
  events: (events) => {
    const next = events[finishOf(events)] ?? "";
    return [...toFinish(events), half(next)];
  },
  body: half,
};

/** The finish reason says that the response was cut off. */
const atLimit = (text: string) =>
  text
    .replace(/"finish_reason":"\w+"/, '"finish_reason":"length"')
    .replace(/"finishReason":"\w+"/, '"finishReason":"MAX_TOKENS"')
    .replace(/"stop_reason":"\w+"/, '"stop_reason":"max_tokens"')
    .replaceAll("response.completed", "response.incomplete")
    .replace(
      '"status":"completed","output"',
      '"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output"',
    );
const endsAtLimit: Cut = (events) => events.map(atLimit);

const MALFORMED = JSON.stringify({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] });

/** The last event of Gemini has a finish reason, but neither text nor a call. */
export const malformedCall: Break = {
  events: (events) => [...toFinish(events), `data: ${MALFORMED}\n\n`],
  body: () => MALFORMED,
};

const IN_PIECES = {
  "before the finish reason": beforeFinish,
  "in the middle of the arguments": { events: inArguments },
  "within an event": inEvent,
  "at the token limit, in a call": {
    events: (events) => [...inArguments(events), ...endsAtLimit(events.slice(finishOf(events)))],
    body: atLimit,
  },
} as const satisfies Record<string, Break>;

const COMPLETE = {
  "before the finish reason": beforeFinish,
  "without a finish reason": withoutReason,
  "within an event": inEvent,
  "at the token limit, after a call": { events: endsAtLimit, body: atLimit },
} as const satisfies Record<string, Break>;

/** How the tool calls of each protocol break. */
const CALL_BREAKS = {
  anthropic: IN_PIECES,
  "openai-responses": IN_PIECES,
  deepseek: IN_PIECES,
  "dashscope-native": IN_PIECES,
  dashscope: IN_PIECES,
  mistral: {
    ...COMPLETE,
    // The arguments of a complete call are cut inside the event.
    "at the token limit, in a call": {
      events: (events) =>
        endsAtLimit(events).map((event) => event.replace(/("arguments":"\{[^}]{8})[^}]*\}"/g, '$1"')),
      body: atLimit,
    },
  },
  gemini: { ...COMPLETE, "with a malformed call": malformedCall },
} as const satisfies Partial<Record<ProviderName, Readonly<Record<string, Break>>>>;

export const BREAKING = Object.keys(CALL_BREAKS) as ProviderName[];

export const BREAK_ROWS = Object.entries(CALL_BREAKS).flatMap(([provider, breaks]) =>
  Object.entries<Break>(breaks).flatMap(([title, broken]) =>
    (["call", "answer"] as const)
      .filter((at) => at === "call" || broken === beforeFinish || broken === inEvent)
      .map((at) => ({ provider: provider as ProviderName, title, broken, at })),
  ),
);
