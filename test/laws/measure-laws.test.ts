/**
 * The law of the measure: whatever a provider counts for each token that is estimated, and whether it reports that or
 * not, a thread that outgrows its limit is summarised at once, and no input is longer than the window.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import type { AgentEvent } from "../../src/threads/events.js";
import { textOf, tokensOf } from "../support/long-histories.js";
import { type Answer, calls, FunctionModel } from "../support/models.js";
import { openAgent, openThread } from "../support/open-thread.js";
import { overflowError } from "../support/overflow-refusals.js";
import { law } from "../support/test-tools.js";
import { user } from "../support/thread.js";

const WINDOW = 8_000;
const LIMIT = WINDOW * 0.8;
/** The system prompt and the tools, whose length only the provider knows. */
const FIXED = 150;
/** The texts in the place of what was shortened or left out. */
const CUT = /shortened from|left out here/;

interface Provider {
  /** How many tokens it counts for each that is estimated. */
  readonly ratio: number;
  readonly reports: boolean;
}

/** Counts in its own way, refuses what is longer than its window, and reports what it has counted. */
class CountingModel extends FunctionModel {
  /** What it has counted of the requests that it accepted. */
  readonly counts: number[] = [];
  readonly overflows: number[] = [];

  constructor({ ratio, reports }: Provider, answer: Answer) {
    super(async (asked) => {
      const input_tokens = Math.ceil(tokensOf(asked.messages) * ratio) + FIXED;
      if (input_tokens > WINDOW) {
        this.overflows.push(input_tokens);
        return overflowError("openai", input_tokens, WINDOW);
      }
      this.counts.push(input_tokens);
      const given = await answer(asked);
      if (given instanceof Error) return given;
      const message = typeof given === "string" ? new AIMessage(given) : given;
      const output_tokens = Math.ceil(tokensOf([message]) * ratio);
      const usage_metadata = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
      return reports ? Object.assign(message, { usage_metadata }) : message;
    });
  }

  override get profile() {
    return { maxInputTokens: WINDOW };
  }
}

const look = tool(async ({ size }: { size: number }) => textOf(size, "found"), {
  name: "look",
  description: "Looks.",
  schema: z.object({ size: z.number() }),
});

interface Thread {
  send(text: string): Promise<{ readonly events: readonly AgentEvent[]; readonly error: unknown }>;
}

const WAYS = {
  createAgentGraph: (model, summaryModel) =>
    openThread(createAgentGraph({ model, summaryModel, tools: [look], checkpointer: new MemorySaver() })),
  "createAgent with tetherMiddleware": (model, summaryModel) => {
    const middleware = [tetherMiddleware({ summary: { summaryModel } })];
    const thread = openAgent({ model, tools: [look], middleware });
    return { send: (text) => thread.run(user(text)) };
  },
} as const satisfies Readonly<Record<string, (model: CountingModel, summaryModel: FunctionModel) => Thread>>;

const providers = fc.record({
  ratio: fc.double({ min: 0.4, max: 2.5, noNaN: true }),
  reports: fc.boolean(),
});
/** What each turn adds, as the provider counts it. With the latest turn alone, an input fits. */
const growth = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 100, max: 1_500 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_500, max: 4_000 }) },
);
const threads = fc.record({
  provider: providers,
  growths: fc.array(growth, { minLength: 8, maxLength: 18 }),
  summaries: fc.constantFrom("work", "fail"),
});

const cutIn = (messages: readonly BaseMessage[]) => messages.some(({ text }) => CUT.test(text));

describe.each(Object.entries(WAYS))("A thread of %s that grows turn by turn", (_name, open) => {
  law(
    "is summarised within one turn, fits into the window, and tells what is shortened",
    30,
    [threads],
    async ({ provider, growths, summaries }) => {
      const model = new CountingModel(provider, ({ messages }) => {
        const size = Number(/^Look (\d+)/.exec(messages.at(-1)?.text ?? "")?.[1]);
        return messages.at(-1)?.type === "tool" ? "That was it." : calls(["look", { size }]);
      });
      const summaryModel = new FunctionModel(() =>
        summaries === "work" ? "They looked." : new Error("503 overloaded"),
      );
      const thread = open(model, summaryModel);
      let isOver = false;
      let isRatioShown = false;
      for (const tokens of growths) {
        const before = { requests: model.requests.length, counts: model.counts.length };
        const overflows = model.overflows.length;
        const { events, error } = await thread.send(`Look ${Math.ceil(tokens / provider.ratio)}`);
        expect(error).toBeUndefined();
        const kinds = new Set(events.map(({ type }) => type));
        if (isOver && summaries === "work") expect(kinds).toContain("summary-made");
        if (model.requests.slice(before.requests).some(({ messages }) => cutIn(messages)))
          expect(kinds).toContain("input-reduced");
        // With reports, and summaries that work, the model is never asked with too much. Nothing is shortened either, as
        // soon as a turn has shown how the provider counts: a first result can be longer than the window by the estimate.
        if (provider.reports && summaries === "work") {
          expect(model.overflows).toEqual([]);
          if (isRatioShown) expect(kinds).not.toContain("input-reduced");
        }
        isRatioShown ||= !kinds.has("input-reduced");
        const counts = model.counts.slice(before.counts);
        for (const count of counts) expect(count).toBeLessThanOrEqual(WINDOW);
        const seen = provider.reports
          ? (counts.at(-1) ?? 0)
          : ((counts.at(-1) ?? 0) - FIXED) / provider.ratio;
        isOver = !kinds.has("summary-made") && (seen > LIMIT || model.overflows.length > overflows);
      }
    },
  );
});
