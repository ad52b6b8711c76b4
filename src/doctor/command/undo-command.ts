/** `undo`: gives threads the messages that they had before a repair. */

import { resolve } from "node:path";
import { TetherError } from "../../errors.js";
import { undo } from "../apply.js";
import { readReceiptLines } from "../receipt.js";
import { openTarget, type TargetPlace } from "../targets/open-target.js";
import { reasonOf, UsageError } from "../targets/target.js";
import type { UndoOutcome } from "../thread-store.js";
import { askToWrite, type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { type CommandLine, type GivenOptions, targetOf } from "./options.js";
import { amount, printable, printableLine, wrapText } from "./text.js";

export async function runUndo({ options, operands }: CommandLine, io: CommandIo): Promise<ExitCode> {
  const [path, ...others] = operands;
  if (path === undefined || others.length > 0)
    throw new UsageError("Expected one receipt: langgraph-tether undo RECEIPT.");
  if (!options.yes && !io.canAsk) throw new UsageError("Nobody can be asked here, so undo needs --yes.");
  const { entries, damaged } = await readEntries(path, io);
  const intents = entries.filter((entry) => entry.kind === "intent");
  const threadIds = options.thread ?? [...new Set(intents.map(({ threadId }) => threadId))];
  const unknown = threadIds.filter((id) => intents.every(({ threadId }) => threadId !== id));
  if (unknown.length > 0)
    throw new UsageError(`The receipt ${path} has no thread ${unknown.join(" and no thread ")}.`);
  const { output, errors } = io;
  if (damaged.length > 0)
    await errors.write(
      printable(
        `The receipt ${path} is damaged: ${amount(damaged.length, "line")} cannot be read (${damaged.slice(0, 5).join(", ")}${damaged.length > 5 ? ", …" : ""}). Threads that only they name are not restored.\n`,
      ),
    );
  if (intents.length === 0) {
    await output.write("The receipt has no repairs.\n");
    return EXIT.sound;
  }
  const place = placeOf(options, intents[0]?.target ?? "", io);
  const store = await openTarget(place, { ...io, canWrite: true, concurrency: 1 });
  try {
    const other = intents.find(({ target }) => target !== store.target);
    if (other !== undefined)
      await errors.write(
        printable(`The receipt was written for ${other.target}, and this is ${store.target}.\n`),
      );
    await output.write(`tether undo · ${store.target}\n\n`);
    if (
      !options.yes &&
      !(await askToWrite(`Restore ${amount(threadIds.length, "thread")} of ${store.target}?`, io))
    ) {
      await output.write("Nothing was written.\n");
      return EXIT.findings;
    }
    let restored = 0;
    let left = 0;
    for await (const outcome of undo(store, entries, {
      threadIds,
      force: options.force === true,
      asNode: options["as-node"],
    })) {
      if (outcome.kind === "restored") restored += 1;
      else if (outcome.kind !== "unchanged") left += 1;
      await output.write(outcomeText(outcome));
      if (io.signal.aborted) break;
    }
    const stopped = io.signal.aborted ? " It was interrupted: run it again." : "";
    const rest = left === 0 ? "" : ` ${amount(left, "thread was", "threads were")} not.`;
    await output.write(`\n  ${amount(restored, "thread was", "threads were")} restored.${rest}${stopped}\n`);
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
function placeOf(options: GivenOptions, target: string, io: CommandIo): TargetPlace {
  const isNamed = options.url ?? options.postgres ?? options.sqlite;
  if (isNamed !== undefined) return targetOf(options, io);
  const [, address = target, schema] = /^(.*) \(schema (.*)\)$/.exec(target) ?? [];
  const named: GivenOptions | undefined = /\*\*\*/.test(address)
    ? undefined
    : /^sqlite:/.test(address)
      ? { sqlite: address.slice("sqlite:".length) }
      : /^postgres/.test(address)
        ? { postgres: address, ...(schema !== undefined && { schema }) }
        : /^https?:/.test(address)
          ? { url: address }
          : undefined;
  if (named === undefined)
    throw new UsageError(
      `Name the target of the receipt, which is ${target}: --url, --postgres or --sqlite.`,
    );
  return targetOf({ ...options, ...named }, io);
}

const MARKS = { restored: "✓", unchanged: "·", moved: "!", skipped: "!", failed: "✗" } as const;

function outcomeText(outcome: UndoOutcome): string {
  const said = {
    restored: () => "restored",
    unchanged: () => "has the messages of before already",
    moved: () => (outcome.kind === "moved" ? outcome.description.replace("`force`", "--force") : ""),
    skipped: () => (outcome.kind === "skipped" ? outcome.description : ""),
    failed: () => (outcome.kind === "failed" ? `failed: ${outcome.error}` : ""),
  }[outcome.kind]();
  return `  ${MARKS[outcome.kind]} ${printableLine(outcome.threadId)}\n${wrapText(said, "      ")}\n`;
}
