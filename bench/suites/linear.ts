/**
 * Updates, lists and texts that take more than linear time elsewhere, at n and at 4n messages, calls or characters. Linear
 * work takes about four times as long.
 */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { findCalls } from "../../server/offline/questions.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { PLACEHOLDER_KEY } from "../../src/history/result.js";
import { renderTranscript } from "../../src/history/transcript.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import { written } from "../histories.js";
import { type CaseSpec, measureRounds, type Suite } from "../suite.js";

interface Case {
  readonly name: string;
  readonly size: number;
  /** Makes the input, and returns what is measured. */
  readonly prepare: (size: number) => () => unknown;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const human = (id: string) => new HumanMessage({ id, content: "Next question" });
const calls = (id: string, ...callIds: string[]) =>
  new AIMessage({
    id,
    content: "",
    tool_calls: callIds.map((call) => ({ id: call, name: "look", args: {} })),
  });
const result = (id: string, call: string, fields: object = {}) =>
  new ToolMessage({ ...fields, id, content: "found", tool_call_id: call });
const results = (size: number, callOf: (index: number) => string) =>
  numbers(size).map((index) => result(`r${index}`, callOf(index)));
const placeholders = (size: number) =>
  numbers(size).map((index) =>
    result(`r${index}`, "c", { additional_kwargs: { [PLACEHOLDER_KEY]: "unrecorded" } }),
  );
const removals = (ids: readonly string[]) => ids.map((id) => new RemoveMessage({ id }));

/** Turns of a user message, a response with a tool call, its result, and a text. */
const sound = (size: number): BaseMessage[] =>
  numbers(size / 4).flatMap((turn) => [
    human(`h${turn}`),
    calls(`a${turn}`, `c${turn}`),
    result(`r${turn}`, `c${turn}`),
    new AIMessage({ id: `t${turn}`, content: "Done" }),
  ]);
/** Tool calls of one turn, each in a message of its own. */
const rounds = (name: string, count: number, content: string): BaseMessage[] =>
  numbers(count).flatMap((index) => [
    calls(`${name}${index}`, `${name}-call${index}`),
    new ToolMessage({ id: `${name}-result${index}`, tool_call_id: `${name}-call${index}`, content }),
  ]);
const batch = (size: number, callOf: (index: number) => string) => calls("a", ...numbers(size).map(callOf));

function update(
  name: string,
  make: (size: number) => readonly [readonly BaseMessage[], readonly BaseMessage[]],
  size = 10_000,
): Case {
  const prepare = (count: number) => {
    const [history, written] = make(count);
    return () => reduceMessages(history, written);
  };
  return { name: `reducer: ${name}`, size, prepare };
}

function list(
  name: string,
  make: (size: number) => BaseMessage[],
  run: (messages: BaseMessage[]) => unknown,
  size = 10_000,
): Case {
  const prepare = (count: number) => {
    const messages = make(count);
    return () => run(messages);
  };
  return { name, size, prepare };
}

const text = (name: string, make: (size: number) => string, size: number): Case => ({
  name: `offline model: ${name}`,
  size,
  prepare: (count) => {
    const request = make(count);
    return () => findCalls(request, new Set(["calculator", "save_note"]));
  },
});

const CASES: readonly Case[] = [
  update("n calls of one message, and their results", (size) => [
    [],
    [batch(size, (index) => `c${index}`), ...results(size, (index) => `c${index}`)],
  ]),
  update("the results in reverse", (size) => [
    [],
    [batch(size, (index) => `c${index}`), ...results(size, (index) => `c${index}`).reverse()],
  ]),
  update("one id for all calls", (size) => [[], [batch(size, () => "c"), ...results(size, () => "c")]]),
  update("n/2 messages with a call, then their results", (size) => [
    [],
    [
      ...numbers(size / 2).map((index) => calls(`a${index}`, `c${index}`)),
      ...results(size / 2, (index) => `c${index}`),
    ],
  ]),
  update("n/2 calls of one id, then placeholders", (size) => [
    [],
    [...numbers(size / 2).map((index) => calls(`a${index}`, "c")), ...placeholders(size / 2)],
  ]),
  update("n results without calls, into a sound history", (size) => [
    sound(size),
    results(size, (index) => `unknown${index}`),
  ]),
  update("late results in the middle of the history", (size) => [
    numbers(size / 2).flatMap((index) => [calls(`a${index}`, `c${index}`), human(`h${index}`)]),
    results(size / 2, (index) => `c${index}`),
  ]),
  update("n/2 removals", (size) => [
    sound(size),
    removals(numbers(size / 4).flatMap((turn) => [`h${turn}`, `r${turn}`])),
  ]),
  list(
    "repairHistory: n/2 removals",
    (size) => [...sound(size), ...removals(numbers(size / 2).map(String))],
    repairHistory,
  ),
  list("validateHistory", sound, (messages) => validateHistory(messages, "openai")),
  list("toModelInput", sound, (messages) => toModelInput(messages)),
  list(
    "toModelInput: a window of half the messages",
    (size) => sound(size),
    (messages) => toModelInput(messages, { maxTokens: 2 * messages.length }),
  ),
  list(
    "toModelInput: ten long results before short ones",
    (size) => [
      ...rounds("long", 10, "word ".repeat(8_000)),
      ...rounds("short", size / 2, "found"),
      human("h"),
    ],
    (messages) => toModelInput(messages, { maxTokens: 12 * messages.length }),
  ),
  list(
    "renderTranscript: one long result",
    (size) => [result("r", "c", { content: "word ".repeat(size) })],
    (messages) => renderTranscript(messages, 1_000),
    2_500_000,
  ),
  text("brackets", (size) => `call calculator {"input":"${"(".repeat(size)}`, 10_000),
  text("braces", (size) => `call calculator {"input":"${"{".repeat(size)}`, 10_000),
  text("line breaks", (size) => "\n".repeat(size), 10_000),
  text("words of requests", (size) => "what is ".repeat(size / 8), 10_000),
  text("digits", (size) => "1".repeat(size), 10_000),
];

/** In milliseconds of the processor, so that other work of the machine does not count. */
function measure({ prepare }: Case, size: number): number {
  const run = prepare(size);
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

export const linear: Suite = {
  name: "linear",
  measure: (conditions) => {
    const cases = CASES.map(
      (one): CaseSpec => ({
        id: one.name.replaceAll(" ", "-"),
        title: `${one.name}, n = ${written(one.size)}`,
        unit: "ms",
        base: "n",
        contenders: { n: () => measure(one, one.size), "4n": () => measure(one, 4 * one.size) },
      }),
    );
    return measureRounds(cases, { ...conditions, rounds: 3 });
  },
};
