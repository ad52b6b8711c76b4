/** A case of the reducer: a history, an update, and the ids of the history that it leads to. */

import type { BaseMessage } from "@langchain/core/messages";
import { expect } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import type { RepairKind } from "../../src/history/reducer/repair.js";
import { outline } from "./plain-messages.js";
import { stateViolations } from "./strict-check.js";

export interface ReducerCase {
  readonly title: string;
  readonly history: readonly BaseMessage[];
  readonly update: readonly unknown[];
  /** The ids of the history that the update leads to. */
  readonly expected: string;
  readonly repairs?: readonly RepairKind[];
}

export function expectCase(_title: string, { history, update, expected, repairs = [] }: ReducerCase): void {
  const reduced = reduceMessages(history, update);
  expect(outline(reduced.messages)).toBe(expected);
  expect(reduced.repairs.map(({ kind }) => kind)).toEqual(repairs);
  expect(stateViolations(reduced.messages)).toEqual([]);
}
