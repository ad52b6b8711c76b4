import type { Repair } from "../../history/messages/repair.js";
import type { ModelRefusal } from "../../providers/failure/refusal-channel.js";
import type { AgentEvent } from "../run/agent-event.js";
import type { SpanEvent } from "./span-events.js";

const PREFIX = "langgraph_tether.";

function spanEvent(name: string, values: Readonly<Record<string, string | number | undefined>>): SpanEvent {
  const known = Object.entries(values).filter(
    (entry): entry is [string, string | number] => entry[1] !== undefined,
  );
  return { name, attributes: Object.fromEntries(known.map(([key, value]) => [`${PREFIX}${key}`, value])) };
}

/** Undefined for an event that changes nothing in the thread and in its requests. */
export function spanEventOf(event: AgentEvent): SpanEvent | undefined {
  switch (event.type) {
    case "call-closed":
      return spanEvent("repair", {
        kind: event.type,
        cause: event.cause,
        tool: event.tool,
        call_id: event.callId,
      });
    case "result-recovered":
      return spanEvent("recovery", { kind: "result", tool: event.tool, call_id: event.callId });
    case "response-recovered":
      return spanEvent("recovery", { kind: "response", message_id: event.messageId });
    case "summary-made":
      return spanEvent("summary", { covered: event.covered.length, tokens_saved: event.tokensSaved });
    case "summary-failed":
      return spanEvent("summary-failed", { retry_after_turns: event.retryAfterTurns });
    case "model-switched":
      return spanEvent("fallback", { from: event.from, to: event.to });
    case "answer-broken":
      return spanEvent("stream-fallback", { reason: event.reason });
    case "dialect-changed":
      return spanEvent("dialect-changed", { from: event.from, to: event.to });
    case "input-shortened":
      return spanEvent("input-shortened", {
        reason: event.reason,
        max_tokens: event.maxTokens,
        shortened: event.shortened.length,
        left_out: event.leftOut.length,
      });
    default:
      return undefined;
  }
}

export function spanEventOfRefusal({ kind, dialect, rule }: ModelRefusal): SpanEvent {
  return spanEvent("refusal", { kind, dialect, rule });
}

export function spanEventOfRepair(repair: Repair): SpanEvent {
  const id = "message" in repair ? repair.message.id : undefined;
  return spanEvent("repair", { kind: repair.kind, message_id: id });
}
