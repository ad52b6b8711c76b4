/** What an active OpenTelemetry span gets, with OpenTelemetry's own SDK. */

import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createLookGraph } from "../support/create-look-graph.js";
import { textOf } from "../support/long-histories.js";
import { oneNode } from "../support/plain-graph.js";
import { user } from "../support/thread.js";
import { TROUBLES } from "../support/troubled-runs.js";

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

async function eventsOf(work: () => Promise<void>) {
  exporter.reset();
  await trace.getTracer("test").startActiveSpan("request", async (span) => {
    await work();
    span.end();
  });
  const [span] = exporter.getFinishedSpans();
  return (span?.events ?? []).map(({ name, attributes }) => ({ name, ...attributes }));
}

/** An event as OpenTelemetry has it. */
const event = (name: string, attributes: object) => ({
  name: `langgraph_tether.${name}`,
  ...Object.fromEntries(Object.entries(attributes).map(([key, value]) => [`langgraph_tether.${key}`, value])),
});
const text = expect.any(String);
const number = expect.any(Number);

describe("the active span", () => {
  it.each(
    Object.entries<readonly object[]>({
      repair: [event("repair", { kind: "orphan-refused", message_id: "orphan" })],
      cancelled: [
        event("repair", { kind: "call-closed", cause: "superseded", tool: "deaf", call_id: text }),
        event("recovery", { kind: "result", tool: "fast", call_id: text }),
      ],
      refusal: [
        event("refusal", { kind: "rule", dialect: "strict", rule: "alternation" }),
        event("dialect-changed", { from: "openai", to: "strict" }),
      ],
      overflow: [
        event("refusal", { kind: "overflow", dialect: "strict" }),
        event("input-shortened", {
          reason: "overflow",
          max_tokens: number,
          shortened: number,
          left_out: number,
        }),
      ],
      summary: [event("summary", { covered: 2, tokens_saved: number })],
      fallback: [event("fallback", { from: text, to: text })],
      failed: [],
    }),
  )("tells of a %s", async (kind, events) => {
    expect(await eventsOf(TROUBLES[kind as keyof typeof TROUBLES])).toEqual(events);
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

// What LangSmith reads of a run: its part in an agent.

/** Notes what a tracer is told when a run of a chain or a model starts. */
class Watching extends BaseCallbackHandler {
  readonly name = "watching";
  readonly seen: { readonly what: string; readonly type: unknown; readonly tags: readonly string[] }[] = [];

  #note(what: string, metadata: unknown, tags: unknown): void {
    this.seen.push({ what, type: Object(metadata).ls_agent_type, tags: (tags ?? []) as string[] });
  }

  override handleChainStart(
    ...given: Parameters<NonNullable<BaseCallbackHandler["handleChainStart"]>>
  ): void {
    const [, , , parent, tags, metadata, , name] = given as unknown[];
    if (parent === undefined || name === "agent-run") this.#note(String(name), metadata, tags);
  }

  override handleChatModelStart(
    ...given: Parameters<NonNullable<BaseCallbackHandler["handleChatModelStart"]>>
  ): void {
    const [, , , , , tags, metadata, name] = given as unknown[];
    this.#note(`model ${name}`, metadata, tags);
  }
}

it("a run is the root, and the request for a summary is a compaction", async () => {
  const { graph } = createLookGraph(() => "done", {
    maxTokensBeforeSummary: 400,
    messagesToKeep: 1,
    name: "looker",
  });
  const watching = new Watching();
  const messages = [new HumanMessage(textOf(900, "old")), new AIMessage("ok"), new HumanMessage("go")];
  await graph.invoke({ messages }, { callbacks: [watching], metadata: { own: 1 } });
  expect(watching.seen.map(({ what, type }) => `${what}: ${type}`)).toEqual([
    "looker: root",
    "model summarize: compaction",
    expect.stringMatching(/^model .*: root$/),
  ]);
  expect(watching.seen.map(({ tags }) => tags.includes("compaction"))).toEqual([false, true, false]);
});

it("a graph inside another one is a subagent, and a caller can name the part itself", async () => {
  const { graph, model } = createLookGraph(() => "done");
  const parent = oneNode((state, config) => graph.invoke(state, config as never));
  const watching = new Watching();
  await parent.invoke(user("go"), { callbacks: [watching] });
  expect(watching.seen.filter(({ what }) => what.startsWith("model")).map(({ type }) => type)).toEqual([
    "subagent",
  ]);
  expect(model.requests).toHaveLength(1);
  const other = new Watching();
  await graph.invoke(user("go"), { callbacks: [other], metadata: { ls_agent_type: "middleware" } });
  expect(new Set(other.seen.map(({ type }) => type))).toEqual(new Set(["middleware"]));
});
