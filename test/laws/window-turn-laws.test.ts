/** The law of the window for whole threads: whatever the summariser does, each turn is answered. */

import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { textOf } from "../support/long-histories.js";
import { type Answer, calls, FunctionModel } from "../support/models.js";
import { openThread } from "../support/open-thread.js";
import {
  OVERFLOW_REFUSALS,
  type OverflowFamily,
  overflowError,
  WindowModel,
} from "../support/overflow-refusals.js";
import { law } from "../support/test-tools.js";

const FAMILIES = Object.keys(OVERFLOW_REFUSALS) as OverflowFamily[];

const BEHAVIOURS = {
  works: () => "They talked.",
  fails: () => new Error("503 overloaded"),
  "says nothing": () => " ",
  "never answers": () => new Promise<never>(() => {}),
  "writes more than it read": ({ text }) => text.repeat(2),
  "calls tools": () => calls(["look", { size: 1, note: "" }]),
  "is cut off": () => new AIMessage({ content: "They", response_metadata: { finish_reason: "length" } }),
  "refuses the length": () => overflowError("openai", 9_000, 1_000),
} as const satisfies Readonly<Record<string, Answer>>;

type Behaviour = keyof typeof BEHAVIOURS;
const behaviours = fc.array(fc.constantFrom(...(Object.keys(BEHAVIOURS) as Behaviour[])), { minLength: 1 });

/** In tokens. Some texts are longer than the window. */
const length = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 5, max: 100 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 10_000 }) },
);
/** A response with calls: the lengths of their results, and of an argument. */
interface Step {
  readonly results: readonly number[];
  readonly note: number;
}
const step: fc.Arbitrary<Step> = fc.record({
  results: fc.array(length, { minLength: 1, maxLength: 3 }),
  note: length,
});
const turn = fc.record({ request: length, rounds: fc.array(step, { maxLength: 3 }) });

const look = tool(async ({ size }: { size: number }) => textOf(size, "found"), {
  name: "look",
  description: "Looks.",
  schema: z.object({ size: z.number(), note: z.string() }),
});

const threads = fc.record({
  family: fc.constantFrom(...FAMILIES),
  window: fc.integer({ min: 1_500, max: 6_000 }),
  isStated: fc.boolean(),
  budget: fc.option(fc.constantFrom(0, 500, 2_000, 50_000), { nil: undefined }),
  behaviours,
  turns: fc.array(turn, { minLength: 1, maxLength: 6 }),
});

const title =
  "In any window, with any summariser, each turn is answered and stored, and its request was sent";
law(title, 25, [threads], async ({ family, window, isStated, budget, behaviours, turns }) => {
  const steps: Step[] = [];
  const stated = isStated ? Math.floor(window / 1.3) : undefined;
  const model = new WindowModel({ window, family, stated }, () => {
    const next = steps.shift();
    if (next === undefined) return "answered";
    const note = textOf(next.note, "note");
    return calls(...next.results.map((size) => ["look", { size, note }] as [string, object]));
  });
  const summaryModel = new FunctionModel((asked) => {
    const behaviour = behaviours[asked.index % behaviours.length] ?? "works";
    const answer: Answer = BEHAVIOURS[behaviour];
    return answer(asked);
  });
  const graph = createAgentGraph({
    model,
    summaryModel,
    summaryTimeoutMs: 5,
    tools: [look],
    checkpointer: new MemorySaver(),
    ...(budget !== undefined && { maxTokensBeforeSummary: budget }),
  });
  const thread = openThread(graph);
  for (const [index, one] of turns.entries()) {
    steps.push(...one.rounds);
    const request = textOf(one.request, `request-${index}`);
    const { error } = await thread.send(request);
    expect(error).toBeUndefined();
    const stored = await thread.read();
    expect(stored.at(-1)?.text).toBe("answered");
    expect(stored.some(({ type, text }) => type === "human" && text === request)).toBe(true);
    const sent = model.accepted.at(-1)?.findLast(({ text }) => text.includes(`request-${index}`));
    expect(sent?.type).toBe("human");
    if (one.request <= 100) expect(sent?.text).toContain(request);
  }
  expect(model.refused).toEqual([]);
});
