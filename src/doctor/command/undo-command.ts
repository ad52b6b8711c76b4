/** `undo`: gives threads the messages that they had before a repair. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { TetherError } from "../../errors.js";
import { amount, printable, printableLine } from "../../shared/text.js";
import { type UndoOutcome, undo } from "../apply.js";
import { readReceiptLines } from "../receipt.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { openTarget, optionsForReceipt, TARGETS } from "../targets/targets.js";
import { askToWrite, type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import type { Options } from "./options.js";
import { startReport } from "./report.js";
import { wrapText } from "./text.js";

export async function runUndo(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<Options>();
  const { yes = false, force, asNode } = options;
  const [path = ""] = command.args;
  if (!yes && !io.canAsk) throw new UsageError("Nobody can be asked here, so undo needs --yes.");
  const { entries, damaged } = await readEntries(path, io);
  const intents = entries.filter((entry) => entry.kind === "intent");
  const threadIds = options.thread ?? [...new Set(intents.map(({ threadId }) => threadId))];
  const unknown = threadIds.filter((id) => intents.every(({ threadId }) => threadId !== id));
  if (unknown.length > 0)
    throw new UsageError(`The receipt ${path} has no thread ${unknown.join(" and no thread ")}.`);
  if (damaged.length > 0)
    await io.errors.write(
      printable(
        `The receipt ${path} is damaged: ${amount(damaged.length, "line")} cannot be read (${damaged.slice(0, 5).join(", ")}${damaged.length > 5 ? ", …" : ""}). Threads that only they name are not restored.\n`,
      ),
    );
  const [first] = intents;
  if (first === undefined) {
    await io.output.write("The receipt has no repairs.\n");
    return EXIT.sound;
  }
  const place = { ...options, ...placeOf(command, first.target) };
  const store = await openTarget(place, { ...io, canWrite: true, concurrency: 1 });
  try {
    const other = intents.find(({ target }) => target !== store.target);
    if (other !== undefined)
      await io.errors.write(
        printable(`The receipt was written for ${other.target}, and this is ${store.target}.\n`),
      );
    const report = await startReport("undo", store, { format: "text" }, io);
    const question = `Restore ${amount(threadIds.length, "thread")} of ${store.target}?`;
    if (!yes && !(await askToWrite(question, io))) return EXIT.findings;
    let restored = 0;
    let left = 0;
    for await (const outcome of undo(store, entries, { threadIds, force, asNode })) {
      if (outcome.kind === "restored") restored += 1;
      else if (outcome.kind !== "unchanged") left += 1;
      const name = printableLine(outcome.threadId);
      const text = wrapText(describe(outcome), "      ");
      await report.thread([outcome], () => [outcome, `  ${MARKS[outcome.kind]} ${name}\n${text}\n`]);
      if (io.signal.aborted) break;
    }
    const stopped = io.signal.aborted ? " It was interrupted: run it again." : "";
    const rest = left === 0 ? "" : ` ${amount(left, "thread was", "threads were")} not.`;
    await report.end({}, `  ${amount(restored, "thread was", "threads were")} restored.${rest}${stopped}\n`);
    return left + damaged.length > 0 || io.signal.aborted ? EXIT.findings : EXIT.sound;
  } finally {
    await store.close();
  }
}

async function readEntries(path: string, { folder }: CommandIo): ReturnType<typeof readReceiptLines> {
  try {
    return await readReceiptLines(resolve(folder, path));
  } catch (error) {
    if (Object(error).code === "ENOENT") throw new UsageError(`There is no file ${path}.`);
    if (TetherError.isInstance(error)) throw new UsageError(`The file ${path} is not a receipt of repair.`);
    throw new UsageError(`The receipt ${path} cannot be read: ${reasonOf(error)}`);
  }
}

/** A receipt names its target without secrets, so a database with a password has to be named again. */
function placeOf(command: Command, target: string): object {
  const isNamed = TARGETS.some(({ option }) => command.getOptionValue(option.attributeName()) !== undefined);
  const named = isNamed ? {} : optionsForReceipt(target);
  if (named !== undefined) return named;
  throw new UsageError(`Name the target of the receipt, which is ${target}: see undo --help.`);
}

const MARKS = { restored: "✓", unchanged: "·", moved: "!", skipped: "!", failed: "✗" } as const;

function describe(outcome: UndoOutcome): string {
  switch (outcome.kind) {
    case "restored":
      return "restored";
    case "unchanged":
      return "has the messages of before already";
    case "moved":
      return outcome.description.replace("`force`", "--force");
    case "skipped":
      return outcome.description;
    case "failed":
      return `failed: ${outcome.error}`;
  }
}
