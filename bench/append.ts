/**
 * Appends one message to histories of several sizes and prints the median time. In the same run it measures
 * LangGraph's own reducer and a plain copy of the array.
 *
 * warm: the history comes from the reducer, as between the steps of a run.
 * cold: the history is an array that the reducer has not seen, as after loading a checkpoint.
 */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { messagesStateReducer } from "@langchain/langgraph";
import { pairedMessagesReducer } from "../src/history/reducer/paired-messages-reducer.js";

const SIZES = [1_000, 10_000, 100_000];
const WARM_SAMPLES = 300;
const COLD_SAMPLES = 15;
/** The time that an append may take in addition to the copy, in microseconds. */
const ALLOWANCE = 60;

type Reducer = (history: BaseMessage[], update: BaseMessage[]) => BaseMessage[];

/** Turns of a user message, a response with two tool calls, their results, and a text. */
function createHistory(size: number): BaseMessage[] {
  return Array.from({ length: size }, (_, index) => {
    const turn = Math.floor(index / 5);
    const id = `message-${index}`;
    switch (index % 5) {
      case 0:
        return new HumanMessage({ id, content: `Question ${turn}` });
      case 1:
        return new AIMessage({
          id,
          content: "",
          tool_calls: [
            { id: `call-${turn}-a`, name: "search", args: { query: `${turn}` } },
            { id: `call-${turn}-b`, name: "search", args: { query: `${turn}` } },
          ],
        });
      case 2:
        return new ToolMessage({ id, content: "found", tool_call_id: `call-${turn}-a` });
      case 3:
        return new ToolMessage({ id, content: "found", tool_call_id: `call-${turn}-b` });
      default:
        return new AIMessage({ id, content: `Answer ${turn}` });
    }
  });
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function time(run: () => void): number {
  const start = performance.now();
  run();
  return (performance.now() - start) * 1000;
}

function measureWarm(reduce: Reducer, size: number): number {
  let history = reduce([], createHistory(size));
  return median(
    Array.from({ length: WARM_SAMPLES }, (_, index) => {
      const update = [new HumanMessage({ id: `new-${index}`, content: "next" })];
      return time(() => {
        history = reduce(history, update);
      });
    }),
  );
}

function measureCold(reduce: Reducer, size: number): number {
  const history = createHistory(size);
  return median(
    Array.from({ length: COLD_SAMPLES }, () => {
      const loaded = [...history];
      const update = [new HumanMessage({ id: "new", content: "next" })];
      return time(() => reduce(loaded, update));
    }),
  );
}

const copy: Reducer = (history, update) => [...history, ...update];

// Runs once, so that the code is compiled before the measurement.
for (const reduce of [pairedMessagesReducer, messagesStateReducer, copy]) {
  measureWarm(reduce, 100);
  measureCold(reduce, 1_000);
}

const rows = SIZES.map((size) => {
  const warm = measureWarm(pairedMessagesReducer, size);
  const peer = measureWarm(messagesStateReducer, size);
  const plain = measureWarm(copy, size);
  return {
    messages: size,
    "warm µs": Math.round(warm),
    "cold µs": Math.round(measureCold(pairedMessagesReducer, size)),
    "messagesStateReducer µs": Math.round(peer),
    "array copy µs": Math.round(plain),
    "times faster": Number((peer / warm).toFixed(1)),
    [`copy + ${ALLOWANCE} µs`]: warm <= plain + ALLOWANCE ? "yes" : "no",
  };
});

console.table(rows);
