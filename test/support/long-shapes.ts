/** Long lists of messages in many shapes: a few parts, each with `size` messages or calls of the same kind. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { PLACEHOLDER_KEY } from "../../src/history/result.js";
import { createSummary } from "../../src/history/summary.js";

/** How the n-th message or call of a part is named. Names of different parts can be the same. */
const NAMINGS = ["own", "shared", "reversed", "pairs", "same"] as const;
type Naming = (typeof NAMINGS)[number];

const KINDS = [
  "users",
  "responses",
  "batch",
  "orders",
  "blocks",
  "results",
  "reports",
  "placeholders",
  "removals",
  "summaries",
  "archive",
] as const;

/** More than any limit of a message leaves whole. */
const LONG = "A line of a text that is much longer than what is left of it.\n".repeat(8);

export interface Part {
  readonly kind: (typeof KINDS)[number];
  readonly ids: Naming | "missing";
  readonly callIds: Naming;
}

export const shapes = (...without: readonly Part["kind"][]): fc.Arbitrary<readonly Part[]> =>
  fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS.filter((kind) => !without.includes(kind))),
      ids: fc.constantFrom<Part["ids"]>(...NAMINGS, "missing"),
      callIds: fc.constantFrom(...NAMINGS),
    }),
    { minLength: 1, maxLength: 4 },
  );

export function buildShape(parts: readonly Part[], size: number): BaseMessage[] {
  return parts.flatMap((part, place) => buildPart(part, place, size));
}

function nameOf(naming: Naming | "missing", place: number, index: number, size: number): string {
  switch (naming) {
    case "own":
      return `${place}-${index}`;
    case "shared":
      return `${index}`;
    case "reversed":
      return `${size - 1 - index}`;
    case "pairs":
      return `${index % 2}`;
    case "same":
      return "0";
    case "missing":
      return "";
  }
}

function buildPart({ kind, ids, callIds }: Part, place: number, size: number): BaseMessage[] {
  const numbers = Array.from({ length: size }, (_, index) => index);
  const idOf = (index: number) => {
    const name = nameOf(ids, place, index, size);
    return name === "" ? {} : { id: `m${name}` };
  };
  const callOf = (index: number) => `c${nameOf(callIds, place, index, size)}`;
  const listed = (...indexes: number[]) =>
    indexes.map((index) => ({ id: callOf(index), name: "look", args: {} }));
  const resultOf = (index: number, fields: object = {}) =>
    new ToolMessage({ ...idOf(index), ...fields, content: "found", tool_call_id: callOf(index) });
  switch (kind) {
    case "users":
      return numbers.map((index) => new HumanMessage({ ...idOf(index), content: "hi" }));
    case "responses":
      return numbers.map(
        (index) => new AIMessage({ ...idOf(index), content: "", tool_calls: listed(index) }),
      );
    case "batch":
      return [new AIMessage({ ...idOf(0), content: "", tool_calls: listed(...numbers) })];
    case "orders": {
      const tool_calls = numbers.map((index) => ({ id: callOf(index), name: "look", args: { query: LONG } }));
      return [new AIMessage({ ...idOf(0), content: "", tool_calls })];
    }
    case "blocks": {
      const content = numbers.map((index) => ({
        type: "tool_use",
        id: callOf(index),
        name: "look",
        input: {},
      }));
      return [new AIMessage({ ...idOf(0), content, tool_calls: listed(...numbers.slice(size / 2)) })];
    }
    case "results":
      return numbers.map((index) => resultOf(index));
    case "reports":
      return numbers.map((index) => resultOf(index, { content: LONG }));
    case "placeholders":
      return numbers.map((index) =>
        resultOf(index, { additional_kwargs: { [PLACEHOLDER_KEY]: "unrecorded" } }),
      );
    case "removals":
      return numbers.map((index) => new RemoveMessage({ id: idOf(index).id ?? "unknown" }));
    case "summaries":
      return numbers.map((index) => {
        const messages = [`m${nameOf(callIds, place, index, size)}`];
        const { additional_kwargs } = createSummary("said", { kind: "keep", messages });
        return new HumanMessage({ ...idOf(index), content: "said", additional_kwargs });
      });
    case "archive": {
      const messages = numbers.map((index) => `m${nameOf(ids, place, index, size)}`);
      const { additional_kwargs } = createSummary("said", {
        kind: "archive",
        checkpoint: "c",
        messages,
        calls: numbers.map(callOf),
        unanswered: numbers.slice(size / 2).map(callOf),
      });
      return [new HumanMessage({ id: `summary-${place}`, content: "said", additional_kwargs })];
    }
  }
}
