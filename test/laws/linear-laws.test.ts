/** The work of each function on messages grows in proportion to the messages. Steps are counted, not time. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withDistinctCallIds } from "../../src/history/calls/distinct-call-ids.js";
import { unansweredCalls } from "../../src/history/calls/open-calls.js";
import { filterToolCalls } from "../../src/history/long-threads/filter-tool-calls.js";
import { findSafeCutoff } from "../../src/history/long-threads/find-safe-cutoff.js";
import { renderTranscript } from "../../src/history/long-threads/render-transcript.js";
import { flattenVisible, visibleHistory } from "../../src/history/long-threads/visible-history.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { rewriteHistory } from "../../src/history/reducer/rewrite-history.js";
import { refuseBadHistory } from "../../src/offline/refuse-bad-history.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects/dialects.js";
import { validateHistory } from "../../src/providers/dialects/validate-history.js";
import { explainInput } from "../../src/providers/input/explanation/explain-input.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { countSteps } from "../support/count-steps.js";
import { runs } from "../support/law-runs.js";
import { buildShape, type Part, shapes } from "../support/long-shapes.js";
import { human, summary } from "../support/make-messages.js";

const SIZE = 64;
/** Four times the messages take four times the steps, and a little more in a heap. Quadratic work takes 16 times. */
const GREATEST_FACTOR = 6;

function expectLinear(stepsOf: (size: number) => number): void {
  const few = stepsOf(SIZE);
  expect(stepsOf(4 * SIZE)).toBeLessThan(GREATEST_FACTOR * few);
}

describe("The work of an update grows with the update and the history", () => {
  const stepsOf = (history: readonly Part[], update: readonly Part[], size: number) => {
    const state = reduceMessages([], buildShape(history, size)).messages;
    return countSteps([[...state], buildShape(update, size)], ([before, written]) => {
      reduceMessages(before, written);
    });
  };

  it("whatever it holds", () => {
    const law = fc.property(shapes(), shapes(), (history, update) => {
      expectLinear((size) => stepsOf(history, update, size));
    });
    fc.assert(law, runs(50));
  });
});

const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

const FUNCTIONS: readonly (readonly [name: string, run: (messages: BaseMessage[]) => unknown])[] = [
  ["reduceMessages, for a history that is not in order", (messages) => reduceMessages(messages, [])],
  ["repairHistory", repairHistory],
  ["rewriteHistory", rewriteHistory],
  ["unansweredCalls", unansweredCalls],
  ["filterToolCalls", (messages) => filterToolCalls(messages, messages.length >> 1)],
  ["findSafeCutoff", (messages) => findSafeCutoff(messages, { messages: messages.length >> 1 })],
  ["visibleHistory", (messages) => flattenVisible(visibleHistory(messages))],
  ["renderTranscript", (messages) => renderTranscript(messages, 100)],
  ["withDistinctCallIds", (messages) => messages.map(distinct)],
  ["the check of the offline model", tolerantly(refuseBadHistory)],
  ...DIALECT_NAMES.map(
    (name) =>
      [`validateHistory for ${name}`, (messages: BaseMessage[]) => validateHistory(messages, name)] as const,
  ),
  ...DIALECT_NAMES.map(
    (dialect) =>
      [
        `toModelInput for ${dialect}`,
        (messages: BaseMessage[]) => toModelInput(messages, { dialect }),
      ] as const,
  ),
  ["explainInput", (messages) => explainInput(messages, { dialect: "strict" })],
];

function distinct(message: BaseMessage): BaseMessage {
  return AIMessage.isInstance(message) ? withDistinctCallIds(message) : message;
}

function tolerantly(run: (messages: BaseMessage[]) => void): (messages: BaseMessage[]) => void {
  return (messages) => {
    try {
      run(messages);
    } catch {
      // A refusal is an answer too.
    }
  };
}

describe("The work grows with the messages", () => {
  it.each(FUNCTIONS)("of %s", (_, run) => {
    const law = fc.property(shapes("removals"), (parts) => {
      expectLinear((size) => countSteps(buildShape(parts, size), (messages) => void run(messages)));
    });
    fc.assert(law, runs(8));
  });

  it("of explainInput with summaries that each cover the one before", () => {
    const chain = (size: number) =>
      Array.from({ length: size }, (_, index) => [
        human(`h${index}`),
        summary(`s${index}`, { kind: "keep", messages: [`h${index}`, `s${index - 1}`] }),
      ]).flat();
    expectLinear((size) => countSteps(chain(size), (messages) => void explainInput(messages)));
  });

  it("of repairHistory with removals", () => {
    const law = fc.property(shapes(), (parts) => {
      expectLinear((size) => countSteps(buildShape(parts, size), (messages) => void repairHistory(messages)));
    });
    fc.assert(law, runs(50));
  });
});
