/** `undo`: gives threads the messages that they had before a repair. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { TetherError } from "../../errors.js";
import { amount, listStart, printableLine } from "../../shared/text.js";
import { type UndoOutcome, undo } from "../apply.js";
import { readReceiptLines } from "../receipt.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { optionsForReceipt, TARGETS, withTarget } from "../targets/targets.js";
import { askToWrite, type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import type { Options } from "./options.js";
import { startReport } from "./report.js";
import { entryText, wrapText } from "./text.js";

export async function runUndo(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<Options>();
  const { yes = false } = options;
  const [path = ""] = command.args;
  const { entries, damaged } = await readReceiptLines(resolve(io.folder, path)).catch((error: unknown) => {
    if (TetherError.isInstance(error)) throw new UsageError(`The file ${path} is not a receipt of repair.`);
    const isMissing = Object(error).code === "ENOENT";
    throw new UsageError(
      isMissing ? `There is no file ${path}.` : `The receipt ${path} cannot be read: ${reasonOf(error)}`,
    );
  });
  const intents = entries.filter((entry) => entry.kind === "intent");
  const warn = (text: string) => io.errors.write(`${printableLine(text)}\n`);
  if (damaged.length > 0)
    await warn(
      `The receipt ${path} is damaged: ${amount(damaged.length, "line")} cannot be read (${listStart(damaged, 5)}). Threads that only they name are not restored.`,
    );
  const [first] = intents;
  if (first === undefined) {
    await io.output.write("The receipt has no repairs.\n");
    return damaged.length > 0 ? EXIT.findings : EXIT.sound;
  }
  const isNamed = TARGETS.some(({ option }) => command.getOptionValue(option.key) !== undefined);
  const place = isNamed ? {} : optionsForReceipt(first.target);
  // A receipt names its target without secrets, so a database with a password has to be named again.
  if (place === undefined)
    throw new UsageError(`Name the target of the receipt, which is ${first.target}: see undo --help.`);
  if (!yes && !io.canAsk) throw new UsageError("Nobody can be asked here, so undo needs --yes.");
  return withTarget({ ...options, ...place }, { ...io, canWrite: true, needsGraph: true }, async (store) => {
    const other = intents.find(({ target }) => target !== store.target);
    if (other !== undefined)
      await warn(`The receipt was written for ${other.target}, and this is ${store.target}.`);
    const report = await startReport("undo", store, { format: "text" }, io);
    const threads = new Set(intents.map(({ threadId }) => threadId)).size;
    const question = `Restore ${amount(threads, "thread")} of ${store.target}?`;
    if (!yes && !(await askToWrite(question, io))) {
      await report.end({}, "  Nothing was written.\n");
      return EXIT.findings;
    }
    const kinds: UndoOutcome["kind"][] = [];
    for await (const outcome of undo(store, entries)) {
      kinds.push(outcome.kind);
      await report.thread(outcome, undoneText(outcome));
      if (io.signal.aborted) break;
    }
    const restored = kinds.filter((kind) => kind === "restored").length;
    const left = kinds.filter((kind) => kind !== "restored" && kind !== "unchanged").length;
    const stopped = io.signal.aborted ? " It was interrupted: run it again." : "";
    const rest = left === 0 ? "" : ` ${amount(left, "thread was", "threads were")} not.`;
    await report.end({}, `  ${amount(restored, "thread was", "threads were")} restored.${rest}${stopped}\n`);
    return left + damaged.length > 0 || io.signal.aborted ? EXIT.findings : EXIT.sound;
  });
}

const MARKS = { restored: "✓", unchanged: "·", moved: "!", skipped: "!", failed: "✗" } as const;
const TEXTS = { restored: "restored", unchanged: "has the messages of before already" } as const;

function undoneText(outcome: UndoOutcome): string {
  const text =
    outcome.kind === "failed"
      ? `failed: ${outcome.error}`
      : "description" in outcome
        ? outcome.description.replace("`force`", "`force` of the library")
        : TEXTS[outcome.kind];
  return entryText(MARKS[outcome.kind], outcome.threadId, [wrapText(text, "      ")]);
}
