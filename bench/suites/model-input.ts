/**
 * What the model node does with the whole list before a request: in a thread that is met for the first time, and for
 * each turn of a thread that grows.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { unansweredCalls } from "../../src/history/open-calls.js";
import { isSummaryDue } from "../../src/history/plan-summary.js";
import { prepareModelInput } from "../../src/providers/input/to-model-input.js";
import { COPY, FIRST_INPUT, NEXT_INPUT, NEXT_INPUT_ALONE, READING } from "../contenders.js";
import { createHistory, createTurn, readOnly, written } from "../histories.js";
import { measureRounds, median, type Suite, timeOfCall } from "../suite.js";

const SIZES = [1_000, 10_000, 100_000];
const CALLS = 20;
/** How many copies of the list a model input has to make: the input itself is a list. */
const COPIES = 3;
const POLICY = {
  maxTokens: 1e9,
  maxMessages: 0,
  messagesToKeep: 20,
  tokensToKeep: undefined,
  toolTokens: 0,
  promptTokens: 0,
  maxToolCalls: undefined,
};

function ask(history: readonly BaseMessage[]): void {
  if (unansweredCalls(history).pending.length > 0 || isSummaryDue(history, POLICY))
    throw new Error("Expected a sound history.");
  const { messages } = prepareModelInput(history, {
    dialect: "openai",
    systemPrompt: "Be brief.",
    maxTokens: 1e9,
  });
  if (messages.length !== history.length + 1)
    throw new Error(`Expected ${history.length + 1} messages, got ${messages.length}.`);
}

/** In microseconds. */
function measureThread(size: number): Readonly<Record<string, number>> {
  let history = createHistory(size);
  const read = timeOfCall(() => readOnly(history));
  const first = timeOfCall(() => ask(history));
  const next: number[] = [];
  const copy: number[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const added = createTurn(size + call);
    copy.push(
      timeOfCall(() => {
        history = [...history, ...added];
      }),
    );
    next.push(timeOfCall(() => ask(history)));
  }
  const taken = {
    [READING]: read,
    [FIRST_INPUT]: first,
    [COPY]: median(copy),
    [NEXT_INPUT]: median(next),
    [NEXT_INPUT_ALONE]: Math.max(0, median(next) - COPIES * median(copy)),
  };
  return Object.fromEntries(Object.entries(taken).map(([name, value]) => [name, value * 1_000]));
}

export const modelInput: Suite = {
  name: "model-input",
  measure: (conditions) => {
    const cases = SIZES.map((size) => {
      // One thread gives all numbers of a round.
      let measured: Readonly<Record<string, number>> = {};
      let isRead = new Set<string>();
      const numberOf = (name: string) => () => {
        if (isRead.size === 0 || isRead.has(name)) {
          measured = measureThread(size);
          isRead = new Set();
        }
        isRead.add(name);
        return measured[name] ?? Number.NaN;
      };
      const names = [FIRST_INPUT, READING, NEXT_INPUT, COPY, NEXT_INPUT_ALONE];
      return {
        id: `${size}`,
        title: `The model input of a call, ${written(size)} messages`,
        unit: "µs",
        base: READING,
        contenders: Object.fromEntries(names.map((name) => [name, numberOf(name)])),
      };
    });
    return measureRounds(cases, { ...conditions, rounds: 9 });
  },
};
