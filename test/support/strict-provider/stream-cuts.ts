/** The ways in which the streams of each protocol break: the events that still arrive. */

export type Break = (events: readonly string[]) => readonly string[];

const FINISH = /"finish_reason":"(?!null)|"stop_reason":"|"type":"response\.completed"|"finishReason":"/;
const ARGUMENTS = /"arguments":"(?!")|"partial_json":"|"type":"response\.function_call_arguments\.delta"/;

const finishOf = (events: readonly string[]) => events.findIndex((event) => FINISH.test(event));
const lastArguments = (events: readonly string[]) => events.findLastIndex((event) => ARGUMENTS.test(event));
/** The piece before the last one of the last call's arguments. A stream that ends there has an incomplete call. */
const callsCut = (events: readonly string[]) => {
  const pieces = events.filter(
    (event) => !/response\.(?:function_call_arguments|output_item)\.done/.test(event),
  );
  return pieces.slice(0, lastArguments(pieces));
};

export const beforeFinish: Break = (events) => events.slice(0, finishOf(events));

/** For protocols that send complete calls, in the event that also has the finish reason. */
export const withoutReason: Break = (events) =>
  events.map((event) =>
    event.replace(/,"finishReason":"\w+"/, "").replace(/"finish_reason":"\w+"/, '"finish_reason":null'),
  );

export const inArguments: Break = (events) => callsCut(events);

/** The connection ends in the middle of an event. */
export const inEvent: Break = (events) => {
  const next = events[finishOf(events)] ?? "";
  return [...beforeFinish(events), next.slice(0, next.length / 2)];
};

/** The arguments are cut off, and the finish reason says so. */
export const atLimit: Break = (events) => [
  ...callsCut(events),
  ...events.slice(finishOf(events)).map((event) =>
    event
      .replace(/"finish_reason":"\w+"/, '"finish_reason":"length"')
      .replace(/"stop_reason":"\w+"/, '"stop_reason":"max_tokens"')
      .replaceAll("response.completed", "response.incomplete")
      .replace(
        '"status":"completed","output"',
        '"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output"',
      ),
  ),
];

/** The arguments are complete, but the finish reason says that the response was cut off. */
export const wholeAtLimit: Break = (events) =>
  events.map((event) =>
    event
      .replace(/"finish_reason":"\w+"/, '"finish_reason":"length"')
      .replace(/"finishReason":"\w+"/, '"finishReason":"MAX_TOKENS"'),
  );

/** Mistral sends complete calls, so their arguments are cut inside the event. */
export const mistralAtLimit: Break = (events) =>
  wholeAtLimit(events).map((event) => event.replace(/("arguments":"\{[^}]{8})[^}]*\}"/g, '$1"'));

/** The last event of Gemini has a finish reason, but neither text nor a call. */
export const malformedCall: Break = (events) => [
  ...beforeFinish(events),
  `data: ${JSON.stringify({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] })}\n\n`,
];
