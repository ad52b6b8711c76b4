/** Histories in which anything can be long: requests, texts, results, arguments, turns and the thread. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { createSummary } from "./internals.js";
import { textOf } from "./long-histories.js";

/** Mostly short, sometimes long, sometimes huge. In tokens. */
const tokens = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 100, max: 900 }) },
  { weight: 1, arbitrary: fc.constant(4_000) },
);

const call = fc.record({
  argument: tokens,
  form: fc.constantFrom("text", "list", "nested", "wide"),
  result: tokens,
  isDense: fc.boolean(),
});

const round = fc.record({
  text: tokens,
  reasoning: tokens,
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
});

const turn = fc.record({
  request: tokens,
  hasPicture: fc.boolean(),
  rounds: fc.array(round, { maxLength: 4 }),
  answer: tokens,
});

export const longThreads = fc.record({
  summary: fc.option(tokens, { nil: undefined }),
  turns: fc.array(turn, { maxLength: 4 }),
  /** The current turn: it ends with its request or with a round. */
  current: turn,
});

type Thread = typeof longThreads extends fc.Arbitrary<infer Value> ? Value : never;
type Turn = Thread["current"];

export function buildThread({ summary, turns, current }: Thread): BaseMessage[] {
  const summarised =
    summary === undefined
      ? []
      : [createSummary(textOf(summary, "summary"), { kind: "keep", messages: ["gone"] })];
  const all = turns.flatMap((one, index) => [
    ...turnOf(one, `t${index}`),
    new AIMessage({ id: `t${index}-answer`, content: textOf(one.answer, "answer") }),
  ]);
  return [
    new SystemMessage({ id: "system", content: "You help." }),
    ...summarised,
    ...all,
    ...turnOf(current, "now"),
  ];
}

function turnOf({ request, hasPicture, rounds }: Turn, name: string): BaseMessage[] {
  const text = textOf(request, `request-${name}`);
  const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(4_000)}` } };
  return [
    new HumanMessage({
      id: `${name}-request`,
      content: hasPicture ? [{ type: "text", text }, picture] : text,
    }),
    ...rounds.flatMap((one, index) => roundOf(one, `${name}-${index}`)),
  ];
}

function roundOf({ text, reasoning, calls }: Turn["rounds"][number], name: string): BaseMessage[] {
  const made = calls.map((one, index) => ({
    id: `${name}-c${index}`,
    name: "look",
    args: argumentsOf(one.form, one.argument),
  }));
  const head = new AIMessage({
    id: name,
    content: text > 40 ? textOf(text, "thought") : "",
    tool_calls: made,
    additional_kwargs: { reasoning_content: textOf(reasoning, "reasoning") },
  });
  const results = calls.map(
    ({ result, isDense }, index) =>
      new ToolMessage({
        id: `${name}-r${index}`,
        name: "look",
        tool_call_id: `${name}-c${index}`,
        content: isDense ? "文".repeat(result) : textOf(result, "found"),
      }),
  );
  return [head, ...results];
}

function argumentsOf(form: string, size: number): Record<string, unknown> {
  switch (form) {
    case "list":
      return { numbers: Array.from({ length: size }, (_, index) => index) };
    case "nested":
      return { a: { b: [{ c: textOf(size, "deep") }] } };
    case "wide":
      return Object.fromEntries(Array.from({ length: size }, (_, index) => [`field${index}`, index]));
    default:
      return { text: textOf(size, "argument") };
  }
}
