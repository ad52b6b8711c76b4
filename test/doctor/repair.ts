/** How tests of the doctor repair a thread and take that back. */

import { expect } from "vitest";
import {
  applyRepair,
  planRepair,
  type ReceiptEntry,
  type ThreadPlace,
  type ThreadReport,
  type ThreadStore,
  undo,
} from "../../src/doctor.js";
import { allOf } from "../support/async.js";

/** A receipt without a file. */
export function memoryReceipt() {
  const entries: ReceiptEntry[] = [];
  return { entries, append: async (entry: ReceiptEntry) => void entries.push(entry) };
}

/** Repairs a thread, which must succeed. Returns what the receipt has. */
export async function repair(place: ThreadPlace): Promise<ReceiptEntry[]> {
  const receipt = memoryReceipt();
  expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({ kind: "repaired" });
  return receipt.entries;
}

/** The kinds of the outcomes of an undo. */
export async function undone(store: ThreadStore, entries: readonly ReceiptEntry[], options = {}) {
  return (await allOf<{ kind: string }>(undo(store, entries, options))).map(({ kind }) => kind);
}

export const codesOf = ({ findings }: ThreadReport) => findings.map(({ code }) => code);
