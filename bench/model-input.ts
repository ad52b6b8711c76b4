/**
 * Measures what the model node does with the whole list before a request, for each turn of a thread that grows and for
 * a list that is met for the first time. The pass that only reads is the least that any look at the list costs.
 */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { unansweredCalls } from "../src/history/calls/open-calls.js";
import { isSummaryDue } from "../src/history/long-threads/plan-summary.js";
import { prepareModelInput } from "../src/providers/input/to-model-input.js";

const SIZES = [1_000, 10_000, 100_000];
const SAMPLES = 9;
const CALLS = 20;
const POLICY = {
  maxTokens: 1e9,
  maxMessages: 0,
  messagesToKeep: 20,
  tokensToKeep: undefined,
  toolTokens: 0,
  promptTokens: 0,
  maxToolCalls: undefined,
};

const turn = (index: number): BaseMessage[] => [
  new HumanMessage({ id: `h${index}`, content: `Question ${index}` }),
  new AIMessage({
    id: `a${index}`,
    content: "",
    tool_calls: [{ id: `c${index % 50}`, name: "look", args: { place: index } }],
  }),
  new ToolMessage({ id: `r${index}`, content: "found", tool_call_id: `c${index % 50}` }),
  new AIMessage({ id: `t${index}`, content: `Answer ${index}` }),
];
const createHistory = (size: number) => Array.from({ length: size / 4 }, (_, index) => turn(index)).flat();

function ask(history: readonly BaseMessage[]): void {
  if (unansweredCalls(history).pending.length > 0 || isSummaryDue(history, POLICY))
    throw new Error("Not sound.");
  const { messages } = prepareModelInput(history, {
    dialect: "openai",
    systemPrompt: "Be brief.",
    maxTokens: 1e9,
  });
  if (messages.length !== history.length + 1) throw new Error(`Got ${messages.length} messages.`);
}

function readOnly(history: readonly BaseMessage[]): number {
  let read = 0;
  for (const { id, type, content } of history) read += (id?.length ?? 0) + type.length + content.length;
  return read;
}

function time(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

const median = (times: readonly number[]) =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;

function measure(size: number) {
  const times = { cold: [] as number[], copy: [] as number[], read: [] as number[], next: [] as number[] };
  for (let sample = -2; sample < SAMPLES; sample += 1) {
    let history = createHistory(size);
    const read = time(() => readOnly(history));
    const cold = time(() => ask(history));
    const next: number[] = [];
    const copy: number[] = [];
    for (let call = 0; call < CALLS; call += 1) {
      const added = turn(size + call);
      copy.push(
        time(() => {
          history = [...history, ...added];
        }),
      );
      next.push(time(() => ask(history)));
    }
    if (sample < 0) continue;
    times.cold.push(cold);
    times.read.push(read);
    times.copy.push(median(copy));
    times.next.push(median(next));
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
}

console.log(`Milliseconds, the median of ${SAMPLES} threads. "next": a model call after one more turn.`);
console.table(
  SIZES.map((size) => {
    const { cold = 0, read = 0, next = 0, copy = 0 } = measure(size);
    return {
      messages: size,
      "only read": Number(read.toFixed(3)),
      "first call": Number(cold.toFixed(2)),
      "copy of the list": Number(copy.toFixed(3)),
      "next call": Number(next.toFixed(3)),
      "next without 3 copies": Number((next - 3 * copy).toFixed(3)),
    };
  }),
);
