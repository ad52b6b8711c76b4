/**
 * Adds what this library does to the active OpenTelemetry span, as span events. So a trace shows repairs beside the
 * requests that they belong to. They have ids, names and numbers, and no text of messages.
 */

import { subscribe } from "node:diagnostics_channel";
import type { Span } from "@opentelemetry/api";
import type { Repair } from "../../history/messages/repair.js";
import { REPAIR_CHANNEL } from "../../history/reducer/paired-messages.js";
import { type ModelRefusal, REFUSAL_CHANNEL } from "../../providers/failure/refusal-channel.js";
import { importOptional } from "../../providers/models/import-optional.js";
import { safely } from "../../shared/safely.js";
import { type AgentEvent, EVENT_CHANNEL } from "../run/agent-event.js";
import { spanEventOf, spanEventOfRefusal, spanEventOfRepair } from "./span-event-of.js";

export interface SpanEvent {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** OpenTelemetry's API registers its SDK here, for all copies of the API with this major version. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

let following: Promise<void> | undefined;

/** Begins to follow, once for the process, as soon as an SDK is registered. Undefined if there is nothing to wait for. */
export function followSpans(): Promise<void> | undefined {
  // A bundle can have an SDK while the package cannot be found.
  if (following === undefined && REGISTERED in globalThis) following = follow().catch(() => {});
  return following;
}

async function follow(): Promise<void> {
  const { trace } = await importOptional<typeof import("@opentelemetry/api")>("@opentelemetry/api");
  // What a subscriber throws ends the process, and an SDK can throw anywhere.
  const listen = <Published>(name: string, hear: (span: Span, published: Published) => void) =>
    subscribe(name, (published) =>
      safely(() => {
        const span = trace.getActiveSpan();
        if (span !== undefined) hear(span, published as Published);
      }, undefined),
    );
  const add = (span: Span, { name, attributes }: SpanEvent) =>
    span.addEvent(`langgraph_tether.${name}`, attributes);
  listen<AgentEvent>(EVENT_CHANNEL, (span, event) => {
    const made = spanEventOf(event);
    if (made !== undefined) add(span, made);
  });
  listen<ModelRefusal>(REFUSAL_CHANNEL, (span, refusal) => add(span, spanEventOfRefusal(refusal)));
  const told = new WeakMap<Span, Set<string>>();
  listen<Repair>(REPAIR_CHANNEL, (span, repair) => {
    const keys = told.get(span) ?? new Set();
    told.set(span, keys);
    // LangGraph runs reducers again, so the same repair is published several times.
    if (keys.has(repair.key)) return;
    keys.add(repair.key);
    add(span, spanEventOfRepair(repair));
  });
}
