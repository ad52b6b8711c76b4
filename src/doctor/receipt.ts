/** The file that keeps every message of a repaired thread. */

import { open, readFile } from "node:fs/promises";
import pLimit from "p-limit";
import { z } from "zod/v4";
import { InvalidSettingError } from "../errors.js";
import { checkGiven, hintAtPromise, type Rule } from "../shared/check-settings.js";
import { parseJson } from "../shared/json.js";
import type { RepairStep, Unplaced } from "./plan.js";

/** Written, and on the disk, before a thread's write. */
export interface ReceiptIntent {
  readonly schemaVersion: 1;
  readonly kind: "intent";
  /** Identifies the write in this receipt. */
  readonly id: string;
  /** ISO 8601. */
  readonly time: string;
  readonly target: string;
  readonly threadId: string;
  readonly namespace: string;
  /** The latest checkpoint before the write. It stays in the store. */
  readonly checkpointId: string | null;
  readonly steps: readonly RepairStep[];
  readonly unplaced: readonly Unplaced[];
  /** The list before the write: each message in JSON, complete. */
  readonly before: readonly unknown[];
  /** Hashes of what the messages say, before and after the write. */
  readonly beforeHash: string;
  readonly afterHash: string;
  /** How many messages the list has after the write. */
  readonly afterLength: number;
}

/** Written after a thread's write was read back and checked, or has failed. */
export interface ReceiptResult {
  readonly schemaVersion: 1;
  readonly kind: "result";
  /** The `id` of its intent. */
  readonly id: string;
  readonly time: string;
  readonly threadId: string;
  readonly outcome: "written" | "moved" | "busy" | "failed";
  /** The latest checkpoint after the write; null if nothing was written. */
  readonly checkpointId: string | null;
  /** What went wrong; null if nothing did. */
  readonly error: string | null;
}

export type ReceiptEntry = ReceiptIntent | ReceiptResult;

/** Where a repair writes its receipt. */
export interface ReceiptWriter {
  /** Contract: resolves when the entry is on the disk. If it rejects, nothing is written to the thread. */
  append(entry: ReceiptEntry): Promise<void>;
}

/*
 * Receipts as files.
 */

const pathRule = {
  schema: z.string().min(1),
  expects: "the path of a file",
  hint: hintAtPromise,
} satisfies Rule;

/** A receipt in a file. Close it when no more threads are repaired. */
export interface ReceiptFile extends ReceiptWriter {
  readonly path: string;
  close(): Promise<void>;
}

/**
 * Opens a receipt. Entries are added at the file's end, and are on the disk before `append` resolves. Only its owner
 * can read a new file, because it contains the messages.
 *
 * @param path The file. It is made if it does not exist; its folder must exist.
 * @throws InvalidSettingError for a path that is not a string.
 * @throws Error of Node if the file cannot be opened.
 * @example
 * ```ts
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { openReceipt } from "langgraph-tether/doctor";
 *
 * const receipt = await openReceipt(join(tmpdir(), "tether-receipt.jsonl"));
 * console.log(receipt.path.endsWith(".jsonl")); // true
 * await receipt.close();
 * ```
 */
export async function openReceipt(path: string): Promise<ReceiptFile> {
  checkGiven("path", path, pathRule);
  const file = await open(path, "a", 0o600);
  // A killed process or a full disk can leave half a line. What follows must not become part of it.
  let isTorn = (await file.stat()).size > 0;
  const inOrder = pLimit(1);
  return {
    path,
    append: (entry) =>
      inOrder(async () => {
        const begin = isTorn ? "\n" : "";
        isTorn = true;
        await file.appendFile(`${begin}${JSON.stringify(entry)}\n`);
        isTorn = false;
        await file.datasync();
      }),
    close: () => file.close(),
  };
}

/**
 * Reads a receipt. A killed process's torn last line is left out: its thread was not written.
 *
 * @throws InvalidSettingError for a path that is not a string, or a file that is not a receipt.
 * @throws Error of Node if the file cannot be read.
 * @example
 * ```ts
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { openReceipt, readReceipt } from "langgraph-tether/doctor";
 *
 * const path = join(tmpdir(), "tether-empty-receipt.jsonl");
 * const receipt = await openReceipt(path);
 * await receipt.close();
 * console.log((await readReceipt(path)).length); // 0
 * ```
 */
export async function readReceipt(path: string): Promise<ReceiptEntry[]> {
  return (await readReceiptLines(path)).entries;
}

/** The same, with the numbers of lines that are not entries, except a torn last line. Not exported. */
export async function readReceiptLines(
  path: string,
): Promise<{ readonly entries: ReceiptEntry[]; readonly damaged: readonly number[] }> {
  checkGiven("path", path, pathRule);
  const lines = (await readFile(path, "utf8")).split("\n");
  const entries: ReceiptEntry[] = [];
  const damaged: number[] = [];
  for (const [index, line] of lines.entries()) {
    const entry = parseJson(line);
    if (isEntry(entry)) entries.push(entry);
    else if (line.trim() !== "" && index < lines.length - 1) damaged.push(index + 1);
  }
  if (entries.length === 0 && lines.some((line) => line.trim() !== ""))
    throw InvalidSettingError.expected(
      "receipt",
      "a receipt of `repair`, with one JSON object on each line",
      path,
    );
  return { entries, damaged };
}

export function isEntry(value: unknown): value is ReceiptEntry {
  const { schemaVersion, threadId, id, kind, before } = Object(value);
  if (schemaVersion !== 1 || typeof threadId !== "string" || typeof id !== "string") return false;
  return kind === "result" || (kind === "intent" && Array.isArray(before));
}
