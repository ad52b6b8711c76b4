/**
 * Counts what the graph does in this process, for Prometheus: `GET /tether/metrics`.
 *
 * The labels have a few values each. They do not name users, threads, tools or models, so whoever may use the server may
 * read them.
 */

import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import type { Handler } from "hono";
import { Counter, Registry } from "prom-client";
import { type EndedRun, RUN_CHANNEL } from "../../src/agent/run.js";
import { REPAIR_CHANNEL } from "../../src/history/reducer/paired-messages.js";
import type { Repair } from "../../src/history/reducer/repair.js";
import { type ModelRefusal, REFUSAL_CHANNEL } from "../../src/providers/failure/refusal.js";
import { type AgentEvent, EVENT_CHANNEL } from "../../src/threads/events.js";

export const METRICS_ROUTE = "/tether/metrics";

/**
 * LangGraph runs reducers again, so a repair can be published several times. The keys of the latest are compared. A key can
 * be as long as the value that was refused, so its hash is kept.
 */
const REMEMBERED_REPAIRS = 10_000;

/** Counts from now on. */
export function serveMetrics(): Handler {
  const registry = new Registry();
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter<Label>({ name: `tether_${name}_total`, help, labelNames, registers: [registry] });
  const counters = {
    runs: counter("runs", "Runs that ended, by how they ended.", "outcome"),
    repairs: counter("repairs", "Repairs of stored threads.", "kind", "cause"),
    recovered: counter("recovered", "Messages recovered from runs that ended early.", "kind"),
    refusals: counter("model_refusals", "Requests that a provider refused by a rule.", "dialect", "rule"),
    overflows: counter("model_overflows", "Requests that a provider refused as too long.", "dialect"),
    retries: counter("model_retries", "Failed requests that were sent again."),
    shortened: counter("inputs_shortened", "Model inputs that were shortened to the window.", "reason"),
    dialects: counter("dialect_changes", "Refused inputs that were sent in the strict form.", "from"),
    summaries: counter("summaries", "Summaries of threads.", "outcome"),
    fallbacks: counter("model_fallbacks", "Turns that went on with another model."),
    broken: counter("stream_fallbacks", "Broken responses that were requested again.", "reason"),
  };
  for (const outcome of ["completed", "failed", "cancelled"]) counters.runs.inc({ outcome }, 0);
  for (const outcome of ["made", "failed"]) counters.summaries.inc({ outcome }, 0);
  for (const kind of ["result", "response"]) counters.recovered.inc({ kind }, 0);

  subscribe(RUN_CHANNEL, (run) => counters.runs.inc({ outcome: (run as EndedRun).outcome }));
  subscribe(REFUSAL_CHANNEL, (published) => {
    const { kind, dialect, rule = "unknown" } = published as ModelRefusal;
    if (kind === "overflow") counters.overflows.inc({ dialect });
    else counters.refusals.inc({ dialect, rule });
  });
  const latest = new Set<string>();
  subscribe(REPAIR_CHANNEL, (repair) => {
    const { key: whole, kind } = repair as Repair;
    const key = createHash("sha256").update(whole).digest("base64");
    if (latest.has(key)) return;
    latest.add(key);
    const [oldest = ""] = latest;
    if (latest.size > REMEMBERED_REPAIRS) latest.delete(oldest);
    counters.repairs.inc({ kind, cause: "" });
  });
  subscribe(EVENT_CHANNEL, (published) => {
    const event = published as AgentEvent;
    if (event.type === "call-closed") counters.repairs.inc({ kind: event.type, cause: event.cause });
    else if (event.type === "result-recovered") counters.recovered.inc({ kind: "result" });
    else if (event.type === "response-recovered") counters.recovered.inc({ kind: "response" });
    else if (event.type === "summary-made") counters.summaries.inc({ outcome: "made" });
    else if (event.type === "summary-failed") counters.summaries.inc({ outcome: "failed" });
    else if (event.type === "model-switched") counters.fallbacks.inc();
    else if (event.type === "model-retry") counters.retries.inc();
    else if (event.type === "answer-broken") counters.broken.inc({ reason: event.reason });
    else if (event.type === "input-shortened") counters.shortened.inc({ reason: event.reason });
    else if (event.type === "dialect-changed") counters.dialects.inc({ from: event.from });
  });
  return async (context) =>
    context.text(await registry.metrics(), 200, { "content-type": registry.contentType });
}
