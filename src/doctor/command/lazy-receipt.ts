import { open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { ReceiptWriter } from "../receipt/receipt.js";
import { openReceipt, type ReceiptFile } from "../receipt/receipt-file.js";
import { reasonOf } from "../targets/reason-of.js";
import { UsageError } from "../targets/usage-error.js";
import type { CommandIo } from "./command-io.js";

/** A receipt whose file is made with its first entry, so that a repair without a write leaves none. */
export interface LazyReceipt extends ReceiptWriter {
  /** The path, as the operator can type it; undefined if nothing was written. */
  readonly writtenTo: () => string | undefined;
  close(): Promise<void>;
}

/**
 * @param path Undefined: a new name with the time.
 * @throws UsageError if the file exists already.
 */
export async function openLazyReceipt(
  path: string | undefined,
  { folder, now }: Pick<CommandIo, "folder" | "now">,
): Promise<LazyReceipt> {
  const name = path ?? `tether-receipt-${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.jsonl`;
  const absolute = resolve(folder, name);
  const taken = new UsageError(
    `The receipt ${name} exists already. A receipt is never overwritten: choose another name.`,
  );
  if (await isThere(absolute)) throw taken;
  let opening: Promise<ReceiptFile> | undefined;
  const create = async (): Promise<ReceiptFile> => {
    try {
      // Fails if another repair has made it meanwhile.
      await (await open(absolute, "wx", 0o600)).close();
      return await openReceipt(absolute);
    } catch (error) {
      throw Object(error).code === "EEXIST"
        ? taken
        : new UsageError(`The receipt ${name} cannot be written: ${reasonOf(error)}`);
    }
  };
  return {
    append: async (entry) => {
      opening ??= create();
      await (await opening).append(entry);
    },
    writtenTo: () => (opening === undefined ? undefined : name),
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
