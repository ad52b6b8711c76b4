/** What an active OpenTelemetry span gets, with OpenTelemetry's own SDK. */

import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TROUBLES } from "../../support/troubled-runs.js";

const exporter = new InMemorySpanExporter();

beforeAll(() => {
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});

afterAll(() => {
  trace.disable();
  context.disable();
});

/** The events of a span around this work. */
async function eventsOf(work: () => Promise<void>) {
  exporter.reset();
  await trace.getTracer("test").startActiveSpan("request", async (span) => {
    await work();
    span.end();
  });
  const [span] = exporter.getFinishedSpans();
  return (span?.events ?? []).map(({ name, attributes }) => ({ name, ...attributes }));
}

const PREFIX = "langgraph_tether";

describe("the active span", () => {
  it.each<[kind: keyof typeof TROUBLES, events: readonly object[]]>([
    [
      "repair",
      [
        {
          name: `${PREFIX}.repair`,
          [`${PREFIX}.kind`]: "orphan-refused",
          [`${PREFIX}.message_id`]: "orphan",
        },
      ],
    ],
    [
      "cancelled",
      [
        {
          name: `${PREFIX}.repair`,
          [`${PREFIX}.kind`]: "call-closed",
          [`${PREFIX}.cause`]: "superseded",
          [`${PREFIX}.tool`]: "deaf",
          [`${PREFIX}.call_id`]: expect.any(String),
        },
        {
          name: `${PREFIX}.recovery`,
          [`${PREFIX}.kind`]: "result",
          [`${PREFIX}.tool`]: "fast",
          [`${PREFIX}.call_id`]: expect.any(String),
        },
      ],
    ],
    [
      "refusal",
      [
        {
          name: `${PREFIX}.refusal`,
          [`${PREFIX}.kind`]: "rule",
          [`${PREFIX}.dialect`]: "strict",
          [`${PREFIX}.rule`]: "alternation",
        },
        { name: `${PREFIX}.dialect-changed`, [`${PREFIX}.from`]: "openai", [`${PREFIX}.to`]: "strict" },
      ],
    ],
    [
      "overflow",
      [
        { name: `${PREFIX}.refusal`, [`${PREFIX}.kind`]: "overflow", [`${PREFIX}.dialect`]: "strict" },
        {
          name: `${PREFIX}.input-shortened`,
          [`${PREFIX}.reason`]: "overflow",
          [`${PREFIX}.max_tokens`]: expect.any(Number),
          [`${PREFIX}.shortened`]: expect.any(Number),
          [`${PREFIX}.left_out`]: expect.any(Number),
        },
      ],
    ],
    [
      "summary",
      [
        {
          name: `${PREFIX}.summary`,
          [`${PREFIX}.covered`]: 2,
          [`${PREFIX}.tokens_saved`]: expect.any(Number),
        },
      ],
    ],
    [
      "fallback",
      [
        {
          name: `${PREFIX}.fallback`,
          [`${PREFIX}.from`]: expect.any(String),
          [`${PREFIX}.to`]: expect.any(String),
        },
      ],
    ],
    ["failed", []],
  ])("tells of a %s", async (kind, events) => {
    expect(await eventsOf(TROUBLES[kind])).toEqual(events);
  });

  it("changes nothing in a run if the SDK throws", async () => {
    const active = vi.spyOn(trace, "getActiveSpan").mockImplementation(() => {
      throw new Error("The SDK is broken.");
    });
    for (const kind of ["repair", "refusal", "fallback"] as const) await TROUBLES[kind]();
    expect(active.mock.results.filter(({ type }) => type === "throw").length).toBeGreaterThan(2);
    active.mockRestore();
  });

  it("is not needed", async () => {
    await TROUBLES.fallback();
    expect(exporter.getFinishedSpans()).toHaveLength(1);
  });
});
