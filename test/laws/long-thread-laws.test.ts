/**
 * Complete threads with summaries, failures of the summariser, removals, undo and late results. No response has a report,
 * so lengths are those of the estimate. `measure-laws.test.ts` has responses with reports.
 */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { isPlaceholder, PLACEHOLDER_KEY } from "../../src/history/result.js";
import { countTokens } from "../../src/history/size.js";
import { coverageOf, isUserMessage } from "../../src/history/summary.js";
import { countTextTokens } from "../../src/history/text-tokens.js";
import { flattenVisible, visibleHistory } from "../../src/history/visible-history.js";
import { gapNote } from "../../src/providers/input/bounds.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { tokensOf } from "../support/long-histories.js";
import { outline } from "../support/plain-messages.js";
import { type Act, ShadowedThread } from "../support/shadowed-thread.js";
import { stateViolations, strictViolations } from "../support/strict-check.js";
import { law } from "../support/test-tools.js";

const PROMPT = "You help.";

const step = fc.record({
  calls: fc.array(fc.constantFrom("c1", "c2", "c3", "c4"), { minLength: 1, maxLength: 3 }),
  tokens: fc.integer({ min: 1, max: 120 }),
});
const turn: fc.Arbitrary<Act> = fc.record({
  kind: fc.constant("turn" as const),
  requestTokens: fc.integer({ min: 5, max: 60 }),
  answerTokens: fc.integer({ min: 5, max: 60 }),
  steps: fc.array(step, { maxLength: 5 }),
  isCutOff: fc.constantFrom(false, false, false, false, true),
});
const which = fc.nat({ max: 30 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: turn },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("late" as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), which }) },
  { weight: 1, arbitrary: fc.constant<Act>({ kind: "undo" }) },
  { weight: 1, arbitrary: fc.constant<Act>({ kind: "restore" }) },
);
const acts = fc.array(act, { maxLength: 14 });
const policy = fc.record({
  maxTokensBeforeSummary: fc.integer({ min: 60, max: 700 }),
  messagesToKeep: fc.integer({ min: 1, max: 8 }),
  promptTokens: fc.constant(countTokens(toModelInput([], { systemPrompt: PROMPT })[0] as BaseMessage)),
});
const kind = fc.constantFrom("keep" as const, "archive" as const);

const inputOf = ({ history, policy: { maxTokensBeforeSummary: maxTokens } }: ShadowedThread) =>
  toModelInput(history, { systemPrompt: PROMPT, maxTokens });

type Story = readonly [Act[], "keep" | "archive", Partial<ShadowedThread["policy"]>];

/** Plays a story. `onStep` is called at each step that asks the model, and `onAct` after each act. */
async function lead(
  [all, how, chosen]: Story,
  onStep?: (thread: ShadowedThread) => void,
  onAct?: (thread: ShadowedThread) => unknown,
): Promise<ShadowedThread> {
  const thread = new ShadowedThread(how, chosen, onStep);
  for (const next of all) {
    await thread.act(next);
    await onAct?.(thread);
  }
  return thread;
}

async function expectAllSaid(thread: ShadowedThread): Promise<void> {
  // A placeholder says only that nothing is known, so it need not be kept.
  const said = (messages: readonly BaseMessage[]) => outline(messages.filter((one) => !isPlaceholder(one)));
  expect(said(await thread.readAll())).toBe(said(thread.shadow));
  expect(stateViolations(thread.history)).toEqual([]);
}

const threads = fc.tuple(acts, kind, policy);
const RUNS = 80;

describe("In any thread, with any budget", () => {
  const counts = { asked: 0, passes: 0 };
  afterAll(() => {
    expect(counts.asked).toBeGreaterThan(150);
    expect(counts.passes).toBeGreaterThan(40);
  });

  const checkInput = (thread: ShadowedThread) => {
    counts.asked += 1;
    const input = inputOf(thread);
    expect(strictViolations(input)).toEqual([]);
    const request = thread.shadow.findLast(isUserMessage);
    // A dialect can join neighbouring messages of one role.
    if (request !== undefined) expect(input.some(({ text }) => text.includes(request.text))).toBe(true);
  };
  law(
    "the model input is valid, with the request, and what is covered was summarised",
    RUNS,
    [threads],
    async (story) => {
      const thread = await lead(story, checkInput);
      counts.passes += thread.passes;
      expect(thread.violations).toEqual([]);
    },
  );

  /** Each message is either shown to the model or covered by a summary. */
  const checkShown = ({ history, shadow }: ShadowedThread) => {
    const { rest, lateResults, system } = visibleHistory(history);
    const shown = new Set([...system, ...rest, ...lateResults].map(({ id }) => id));
    const covered = new Set(history.flatMap((message) => coverageOf(message)?.messages ?? []));
    for (const { id = "", type, additional_kwargs } of shadow) {
      // The placeholder of a covered call is not shown.
      const isSilent = type === "tool" && additional_kwargs[PLACEHOLDER_KEY] !== undefined;
      const isArchived = !history.some((message) => message.id === id);
      if (!isSilent && !isArchived) expect(shown.has(id), id).toBe(!covered.has(id));
      if (isArchived) expect(shown.has(id), id).toBe(false);
    }
  };
  law("the full history has every message once and in order, shown or covered", RUNS, [threads], (story) =>
    lead(story, undefined, async (thread) => {
      await expectAllSaid(thread);
      checkShown(thread);
    }),
  );

  it("after a restore a result answers its own call, even if an earlier call of its id has lost its result", async () => {
    const steps = [["c1", "c1", "c1"], ["c1"], ["c1", "c3", "c1"]].map((calls) => ({ calls, tokens: 1 }));
    const turn: Act = { kind: "turn", requestTokens: 5, answerTokens: 5, steps, isCutOff: false };
    const acts: Act[] = [turn, { kind: "remove", which: 8 }, { kind: "restore" }];
    const story = [acts, "keep", { maxTokensBeforeSummary: 60, messagesToKeep: 1, promptTokens: 7 }] as const;
    const { history } = await lead(story as Story, undefined, expectAllSaid);
    expect(outline(history)).toContain("s4 s4-result-1 s4-result-2");
  });
});

/** The tokens of the note in place of messages that are left out of an input. */
const NOTE_TOKENS = countTextTokens(gapNote(1_000)) + 4;

/** What must be sent in any case: system prompt, summary, request, and the group that needs a response. */
function leastOf({ history }: ShadowedThread): number {
  const { system, summaries, rest } = visibleHistory(history);
  const request = rest.findLast(isUserMessage);
  const from = rest.findLastIndex((message) => message.type !== "tool");
  const open = rest.slice(from).filter((message) => message !== request);
  const least = open.map((message) =>
    message.type === "tool" ? Math.min(40, countTokens(message)) : countTokens(message),
  );
  const fixed = tokensOf(toModelInput([...system], { systemPrompt: PROMPT }));
  return (
    fixed + tokensOf([...summaries, ...(request ? [request] : [])]) + least.reduce((sum, one) => sum + one, 0)
  );
}

describe("Right after a summary", () => {
  let reached = 0;
  afterAll(() => expect(reached).toBeGreaterThan(20));

  law("the input is within the budget, unless what must be sent is longer", RUNS, [threads], (story) => {
    let passes = 0;
    return lead(story, (thread) => {
      // If the summariser failed, the history has its old length.
      if (thread.passes === passes || thread.passes % 3 === 0) return;
      passes = thread.passes;
      reached += 1;
      // Up to a tenth of the budget is not worth a request to the summariser.
      // Messages shorter than a summary of them are not covered. The input has them, or a note that is longer still.
      const least = leastOf(thread) + (thread.isTooShortToCover ? NOTE_TOKENS : 0);
      const budget =
        Math.max(thread.policy.maxTokensBeforeSummary, least) + thread.policy.maxTokensBeforeSummary / 10;
      const shown = outline(flattenVisible(visibleHistory(thread.history)));
      expect(tokensOf(inputOf(thread)), shown).toBeLessThanOrEqual(budget);
    });
  });
});
