/**
 * Whatever a model responds in a graph with a response format: each call has one result, the turn ends within its limits,
 * and there is a structured response or an event that says why not.
 */

import type { AIMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { createAgentGraph, providerStrategy, toolStrategy } from "../../src/index.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import type { AgentEvent } from "../../src/threads/events.js";
import { calls, FunctionModel, type WantedCall } from "../support/models.js";
import { law } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const City = z.object({ name: z.string() }).meta({ title: "City" });
const OSLO = { name: "Oslo" };

/** From a small set, so that they repeat. */
const id = fc.constantFrom("a", "b", "c", undefined);
const wantedCall: fc.Arbitrary<WantedCall> = fc
  .tuple(
    fc.constantFrom(
      ["City", OSLO] as const,
      ["City", {}] as const,
      ["fast", {}] as const,
      ["failing", {}] as const,
      ["unknown", {}] as const,
    ),
    id,
  )
  .map(([[name, args], callId]) => (callId === undefined ? [name, args] : [name, args, callId]));

const response: fc.Arbitrary<() => string | AIMessage> = fc.oneof(
  fc.constantFrom("A text.", JSON.stringify(OSLO), '{"name":7}').map((text) => () => text),
  {
    weight: 4,
    arbitrary: fc.array(wantedCall, { minLength: 1, maxLength: 4 }).map((batch) => () => calls(...batch)),
  },
);

const settings = fc.record({
  maxIterations: fc.integer({ min: 1, max: 6 }),
  maxConsecutiveErrors: fc.integer({ min: 1, max: 3 }),
  maxToolCalls: fc.constantFrom(0, 2, 5, undefined),
  requireApproval: fc.constantFrom([], ["fast"]),
  toolChoice: fc.constantFrom("auto" as const, "none" as const, "required" as const),
  maxToolCallsFromHistory: fc.constantFrom(undefined, 0, 1),
});

const scripts = fc.array(response, { minLength: 1, maxLength: 8 });
for (const [strategy, responseFormat] of Object.entries({
  toolStrategy: toolStrategy(City),
  providerStrategy: providerStrategy(City),
}))
  law(
    `${strategy}: each turn ends with a structured response or with its reason`,
    25,
    [scripts, settings],
    async (script, given) => {
      const { fast, failing } = createProbe();
      const model = new FunctionModel(({ index }) => script[index % script.length]?.() ?? "A text.");
      const checkpointer = new MemorySaver();
      const options = { ...given, responseFormat, checkpointer, tools: [fast, failing] };
      const graph = createAgentGraph({ model, ...options });
      const config = inThread("1");
      for (const text of ["go", "again"]) {
        const before = model.requests.length;
        const events: AgentEvent[] = [];
        let input: Parameters<typeof graph.invoke>[0] = user(text);
        for (let waits = true; waits; ) {
          for await (const event of await graph.stream(input, { ...config, streamMode: "custom" }))
            events.push(event as AgentEvent);
          const { tasks } = await graph.getState(config);
          const question = tasks.flatMap(({ interrupts }) => interrupts).at(0);
          const asked = question?.value.action_requests ?? [];
          waits = asked.length > 0;
          const decisions = asked.map(() => ({ type: "approve" }));
          input = new Command({ resume: { [question?.id ?? ""]: { decisions } } });
        }
        const { values, next } = await graph.getState(config);
        const messages = pairedMessagesOf(values);
        expect(next).toEqual([]);
        expect(model.requests.length - before).toBeLessThanOrEqual(given.maxIterations + 1);
        const response = Reflect.get(values, "structuredResponse");
        const missing = events.filter(({ type }) => type === "structured-response-missing");
        expect([response, missing.length]).toEqual(response === undefined ? [undefined, 1] : [OSLO, 0]);
        expect(events.at(-1)?.type).toBe("run-end");
        for (const dialect of ["openai", "anthropic", "gemini", "mistral", "strict"] as const)
          expect(validateHistory(toModelInput(messages, { dialect }), dialect)).toEqual([]);
      }
      expect(model.refused).toEqual([]);
    },
  );
