/** Describes the events of the agent on the `custom` stream. */

import type { PlaceholderCause } from "../../src/history/result.js";
import { BROKEN_REASONS } from "../../src/providers/answer/verdict.js";
import type { AgentEvent } from "../../src/threads/events.js";
import type { RunEndEvent } from "../../src/threads/usage.js";

const KNOWN_EVENTS: Readonly<Record<AgentEvent["type"], true>> = {
  "call-closed": true,
  "result-recovered": true,
  "response-recovered": true,
  "summary-made": true,
  "summary-failed": true,
  "limit-near": true,
  "limit-reached": true,
  "answer-broken": true,
  "structured-response-refused": true,
  "structured-response-missing": true,
  "model-retry": true,
  "model-switched": true,
  "input-shortened": true,
  "dialect-changed": true,
  "result-refused": true,
  "result-late": true,
  "result-dropped": true,
  "message-refused": true,
  "role-changed": true,
  "message-steered": true,
  "steering-refused": true,
  "inbox-failed": true,
  "memory-missing": true,
  "run-end": true,
};

const CAUSES: Readonly<Record<PlaceholderCause, string>> = {
  unrecorded: "no result was recorded",
  superseded: "a new message came before it finished",
  interrupted: "the run ended before it finished",
  "invalid-arguments": "its arguments were not valid JSON",
  "timed-out": "it took too long",
  declined: "it was not approved",
  "not-started": "its run ended before it was started",
  failed: "it failed",
};

const MISSING_REASONS = {
  "limit-reached": "a limit is reached",
  "not-in-format": "no response was in the format",
  ended: "the run was ended",
} as const;

/** An event of another sender is shown unchanged. */
export function describeEvent(event: unknown): string {
  const known = isAgentEvent(event) ? event : undefined;
  switch (known?.type) {
    case "result-recovered":
      return `${known.tool}: its result was recovered from the earlier run`;
    case "response-recovered":
      return "a response of the earlier run was recovered";
    case "call-closed":
      return `${known.tool}: closed without a result, because ${CAUSES[known.cause]}`;
    case "summary-made":
      return `${known.covered.length} earlier messages were summarised, which saves ${known.tokensSaved} tokens`;
    case "summary-failed":
      return `no summary was made, and the history is unchanged. It is tried again after ${counted(known.retryAfterTurns, "turn")}: ${known.reason}`;
    case "input-shortened":
      return `the model input is too long: ${counted(known.leftOut.length, "message")} left out, ${counted(known.shortened.length, "message")} shortened`;
    case "dialect-changed":
      return `the model refused its input, and gets it in the form that every provider accepts: ${known.reason}`;
    case "memory-missing":
      return `the agent has no memory inside the other graph, so the work of a cancelled run is lost. Set \`${known.remedy}\``;
    case "limit-near":
      return `the limit ${known.limit} is near: ${known.used.toLocaleString("en")} of ${known.max.toLocaleString("en")} are used`;
    case "limit-reached":
      return `the limit ${known.limit} is reached: the model must respond without tools`;
    case "answer-broken":
      return `the model's response ${BROKEN_REASONS[known.reason]}. It is requested again without streaming`;
    case "structured-response-refused":
      return `the response is not in the format: ${known.reason}`;
    case "structured-response-missing":
      return `the turn ended without a structured response: ${MISSING_REASONS[known.reason]}`;
    case "model-retry":
      return `the model failed (request ${known.attempt} of ${known.maxAttempts}). The request is sent again: ${known.reason}`;
    case "model-switched":
      return `the model ${known.from} failed, and ${known.to} is asked instead: ${known.reason}`;
    case "result-refused":
      return `${known.tool}: a result was left out of the input, because the agent answers this call itself`;
    case "result-dropped":
      return "a result of the earlier run was dropped, because its call was not saved";
    case "message-refused":
      return "a changed message of the input was left out, because a summary has archived it";
    case "role-changed":
      return "a system message of the input was stored as the user's words";
    case "message-steered":
      return "a message came while the run went on, and the model gets it now";
    case "steering-refused":
      return `a message for the run was refused: ${known.reason}`;
    case "inbox-failed":
      return `the inbox of the thread could not be read: ${known.reason}`;
    default:
      return JSON.stringify(event);
  }
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Describes the tokens of a run. */
export function describeUsage(
  usage: Pick<NonNullable<RunEndEvent["usage"]>, "input_tokens" | "output_tokens" | "total_tokens">,
): string {
  const count = (tokens: number) => tokens.toLocaleString("en");
  const { input_tokens, output_tokens, total_tokens } = usage;
  return `${count(total_tokens)} tokens: ${count(input_tokens)} in, ${count(output_tokens)} out`;
}

export function isAgentEvent(event: unknown): event is AgentEvent {
  return (
    typeof event === "object" &&
    event !== null &&
    "type" in event &&
    Object.hasOwn(KNOWN_EVENTS, String(event.type))
  );
}
