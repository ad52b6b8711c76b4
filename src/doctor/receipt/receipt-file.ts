/** Receipts as files. */

import { open, readFile } from "node:fs/promises";
import { InvalidSettingError } from "../../errors.js";
import { isRecord } from "../../shared/is-record.js";
import type { ReceiptEntry, ReceiptWriter } from "./receipt.js";

/** A receipt in a file. Close it when no more threads are repaired. */
export interface ReceiptFile extends ReceiptWriter {
  readonly path: string;
  close(): Promise<void>;
}

/**
 * Opens a receipt. Entries are added at the end of the file, and are on the disk before `append` resolves. Only its owner
 * can read a new file, because it contains the messages.
 *
 * @param path The file. It is made if it does not exist; its folder must exist.
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
  const file = await open(path, "a+", 0o600);
  const { size } = await file.stat();
  // The last line of a process that was killed can be torn. What follows must not become a part of it.
  const last = Buffer.alloc(1);
  if (size > 0) await file.read(last, 0, 1, size - 1);
  if (size > 0 && last.toString() !== "\n") await file.appendFile("\n");
  let queue: Promise<unknown> = Promise.resolve();
  let isTorn = false;
  return {
    path,
    append: (entry) => {
      const write = async (): Promise<void> => {
        // The disk can get full in the middle of a line.
        const begin = isTorn ? "\n" : "";
        isTorn = true;
        await file.appendFile(`${begin}${JSON.stringify(entry)}\n`);
        isTorn = false;
        await file.datasync();
      };
      const written = queue.then(write, write);
      queue = written;
      return written;
    },
    close: () => file.close(),
  };
}

/**
 * Reads a receipt. A torn last line of a process that was killed is left out: its thread was not written.
 *
 * @throws InvalidSettingError if the file is not a receipt.
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

/** The same, with the numbers of the lines that are no entries. A torn last line is not among them. Not exported. */
export async function readReceiptLines(
  path: string,
): Promise<{ readonly entries: ReceiptEntry[]; readonly damaged: readonly number[] }> {
  const lines = (await readFile(path, "utf8")).split("\n");
  const entries: ReceiptEntry[] = [];
  const damaged: number[] = [];
  for (const [index, line] of lines.entries()) {
    const entry = parsed(line);
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

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isEntry(value: unknown): value is ReceiptEntry {
  if (!isRecord(value) || value["schemaVersion"] !== 1 || typeof value["threadId"] !== "string") return false;
  if (typeof value["id"] !== "string") return false;
  return value["kind"] === "result" || (value["kind"] === "intent" && Array.isArray(value["before"]));
}
