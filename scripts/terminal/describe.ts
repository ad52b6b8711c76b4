/** Messages, calls and events of the agent in words. */

import type { AIMessage, Message } from "@langchain/langgraph-sdk";
import type { PlaceholderCause } from "../../src/history/result.js";
import type { AgentEvent } from "../../src/nodes/agent-event.js";
import { BROKEN_REASONS } from "../../src/providers/stream-verdict.js";

const CAUSES: Readonly<Record<PlaceholderCause, string>> = {
  unrecorded: "no result was recorded",
  superseded: "a new message came before it finished",
  interrupted: "the run ended before it finished",
  "invalid-arguments": "its arguments were not valid JSON",
  "timed-out": "it took too long",
  declined: "it was not approved",
  failed: "it failed",
};

export function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** A call as it is made: `calculator(input: "3*4")`. */
export interface WireCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly words: string;
}

/** The calls of a message, those with bad arguments last. */
export function callsOf({ tool_calls = [], invalid_tool_calls = [] }: AIMessage): WireCall[] {
  return [
    ...tool_calls.map(({ id, name, args }) => ({ id, name, words: describeCall({ name, args }) })),
    ...invalid_tool_calls.map(({ id, name = "unknown", args = "" }) => ({
      id,
      name,
      words: `${name}(${args})`,
    })),
  ];
}

export function describeCall(call: { name: string; args: Readonly<Record<string, unknown>> }): string {
  const words = Object.entries(call.args).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `${call.name}(${words.join(", ")})`;
}

/** The mark of a result that was written because none was recorded; see `src/history/result.ts`. */
export function placeholderCauseOf({ additional_kwargs }: Message): string | undefined {
  const cause = additional_kwargs?.["tether_placeholder"];
  return cause === undefined ? undefined : String(cause);
}

/** What the agent tells on the `custom` stream; an event of another sender as it is. */
export function describeEvent(event: unknown): string {
  const known = isAgentEvent(event) ? event : undefined;
  switch (known?.type) {
    case "result-recovered":
      return `${known.tool}: its result of the earlier run was found and kept`;
    case "call-closed":
      return `${known.tool}: closed without a result, as ${CAUSES[known.cause]}`;
    case "limit-reached":
      return `the limit ${known.limit} is reached: the answer is made without tools`;
    case "answer-broken":
      return `the model's answer ${BROKEN_REASONS[known.reason]}, and is asked for again without streaming`;
    default:
      return JSON.stringify(event);
  }
}

export function isAgentEvent(event: unknown): event is AgentEvent {
  return (
    typeof event === "object" &&
    event !== null &&
    "type" in event &&
    ["result-recovered", "call-closed", "limit-reached", "answer-broken", "run-end"].includes(
      String(event.type),
    )
  );
}
