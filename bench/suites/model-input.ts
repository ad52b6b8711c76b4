/**
 * What the model node does with the whole list before a request: in a thread that is met for the first time, and for
 * each turn of a thread that grows.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { unansweredCalls } from "../../src/history/open-calls.js";
import { isSummaryDue } from "../../src/history/plan-summary.js";
import { prepareModelInput } from "../../src/providers/input/to-model-input.js";
import { FIRST_INPUT, NEXT_INPUT } from "../contenders.js";
import { createHistory, createTurn, written } from "../histories.js";
import { measureRounds, median, type Suite, timeOfCall } from "../suite.js";

const SIZES = [1_000, 10_000];
const CALLS = 20;
const POLICY = {
  maxTokensBeforeSummary: 1e9,
  maxMessagesBeforeSummary: 0,
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

const measureFirst = (size: number): number => {
  const history = createHistory(size);
  return timeOfCall(() => ask(history)) * 1_000;
};

function measureNext(size: number): number {
  let history = createHistory(size);
  ask(history);
  const taken = Array.from({ length: CALLS }, (_, call) => {
    history = [...history, ...createTurn(size + call)];
    return timeOfCall(() => ask(history));
  });
  return median(taken) * 1_000;
}

export const modelInput: Suite = {
  name: "model-input",
  measure: (conditions) => {
    const cases = SIZES.map((size) => ({
      id: `${size}`,
      title: `The model input of a call, ${written(size)} messages`,
      unit: "µs",
      base: FIRST_INPUT,
      contenders: {
        [FIRST_INPUT]: () => measureFirst(size),
        [NEXT_INPUT]: () => measureNext(size),
      },
    }));
    return measureRounds(cases, { ...conditions, rounds: 9 });
  },
};
