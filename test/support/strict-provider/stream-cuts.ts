/** How the streams of each protocol break: the events that still come. */

export type Break = (events: readonly string[]) => readonly string[];

const FINISH = /"finish_reason":"(?!null)|"stop_reason":"|"type":"response\.completed"|"finishReason":"/;
const ARGUMENTS = /"arguments":"(?!")|"partial_json":"|"type":"response\.function_call_arguments\.delta"/;

const finishOf = (events: readonly string[]) => events.findIndex((event) => FINISH.test(event));
const lastArguments = (events: readonly string[]) => events.findLastIndex((event) => ARGUMENTS.test(event));
/** The piece before the last one of the last call's arguments, so that the call has begun and is not whole. */
const callsCut = (events: readonly string[]) => {
  const pieces = events.filter(
    (event) => !/response\.(?:function_call_arguments|output_item)\.done/.test(event),
  );
  return pieces.slice(0, lastArguments(pieces));
};

export const beforeFinish: Break = (events) => events.slice(0, finishOf(events));

/** For protocols whose calls come whole, in the event that also gives the reason. */
export const withoutReason: Break = (events) =>
  events.map((event) =>
    event.replace(/,"finishReason":"\w+"/, "").replace(/"finish_reason":"\w+"/, '"finish_reason":null'),
  );

export const inArguments: Break = (events) => callsCut(events);

/** The connection ends within an event. */
export const inEvent: Break = (events) => {
  const next = events[finishOf(events)] ?? "";
  return [...beforeFinish(events), next.slice(0, next.length / 2)];
};

/** Arguments that are cut off, and a reason that says so. */
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

/** Whole arguments, and a reason that says that more was to come. */
export const wholeAtLimit: Break = (events) =>
  events.map((event) =>
    event
      .replace(/"finish_reason":"\w+"/, '"finish_reason":"length"')
      .replace(/"finishReason":"\w+"/, '"finishReason":"MAX_TOKENS"'),
  );

/** Mistral's calls come whole, so their arguments are cut where they stand. */
export const mistralAtLimit: Break = (events) =>
  wholeAtLimit(events).map((event) => event.replace(/("arguments":"\{[^}]{8})[^}]*\}"/g, '$1"'));

/** As Gemini does it: the last event has a reason, and neither text nor call. */
export const malformedCall: Break = (events) => [
  ...beforeFinish(events),
  `data: ${JSON.stringify({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] })}\n\n`,
];
