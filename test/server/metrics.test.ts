import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { METRICS_ROUTE, serveMetrics } from "../../server/http/metrics.js";
import { familiesIn, readMetrics } from "../support/read-metrics.js";
import { TROUBLES } from "../support/troubled-runs.js";

async function read(app: Hono): Promise<string> {
  const response = await app.request(METRICS_ROUTE);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return response.text();
}

describe("the metrics", () => {
  const app = new Hono();
  app.get(METRICS_ROUTE, serveMetrics());

  it("count nothing before anything happens, and describe each counter", async () => {
    const text = await read(app);
    expect(readMetrics(text)).toEqual({});
    for (const { name, help, type } of familiesIn(text)) {
      expect(name).toMatch(/^tether_\w+_total$/);
      expect([type, help.endsWith(".")]).toEqual(["COUNTER", true]);
    }
  });

  it.each(
    Object.entries<Record<string, number>>({
      repair: { "tether_runs_total{outcome=completed}": 1, "tether_repairs_total{kind=orphan-refused}": 1 },
      cancelled: {
        "tether_runs_total{outcome=completed}": 1,
        "tether_runs_total{outcome=cancelled}": 1,
        "tether_repairs_total{kind=call-closed,cause=superseded}": 1,
        "tether_recovered_total{kind=result}": 1,
      },
      refusal: {
        "tether_runs_total{outcome=completed}": 1,
        "tether_model_refusals_total{dialect=strict,rule=alternation}": 1,
        "tether_dialect_changes_total{from=openai}": 1,
      },
      overflow: {
        "tether_runs_total{outcome=completed}": 1,
        "tether_model_overflows_total{dialect=strict}": 1,
        "tether_inputs_shortened_total{reason=overflow}": 1,
      },
      summary: { "tether_runs_total{outcome=completed}": 1, "tether_summaries_total{outcome=made}": 1 },
      fallback: { "tether_runs_total{outcome=completed}": 1, tether_model_fallbacks_total: 1 },
      failed: { "tether_runs_total{outcome=failed}": 1 },
    }),
  )("count a %s", async (kind, counted) => {
    const before = readMetrics(await read(app));
    await TROUBLES[kind as keyof typeof TROUBLES]();
    const after = readMetrics(await read(app));
    const grown = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)] as const);
    expect(Object.fromEntries(grown.filter(([, value]) => value !== 0))).toEqual(counted);
  });
});
