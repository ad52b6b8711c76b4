/** `explain`: says offline why a provider would refuse a list of messages. */

import type { Command } from "commander";
import { TetherError } from "../../errors.js";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import { type Explanation, explain } from "../explain.js";
import { listInFile, parseThreads, readFileOrInput } from "../targets/file-target.js";
import { UsageError } from "../targets/target.js";
import { threadOfList } from "../thread-store.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import type { Options } from "./options.js";
import { excerptsOf } from "./text.js";

export async function runExplain(command: Command, io: CommandIo): Promise<ExitCode> {
  const { dialect, format, redact } = command.opts<Options>();
  const [file = ""] = command.args;
  const name = file === "-" ? "standard input" : file;
  const [value, ...more] = parseThreads(await readFileOrInput(file, io), name);
  const messages = listInFile(value);
  if (messages === undefined)
    throw new UsageError(`Expected ${name} to be a list of messages or what getState returned.`);
  if (more.length > 0)
    throw new UsageError(
      `${name} has ${more.length + 1} lists of messages. explain reads one; doctor --file reads several.`,
    );
  const { text, ...explanation } = explainKnown(messages, dialect);
  const excerptOf = excerptsOf(threadOfList(messages));
  const reasons = explanation.reasons.map((reason) => ({
    ...reason,
    ...(redact === false && { excerpt: excerptOf(reason.index) }),
  }));
  if (format === "text") {
    const excerpts = reasons.flatMap(({ index, excerpt }) =>
      excerpt === undefined ? [] : `messages[${index}]: ${excerpt}`,
    );
    await io.output.write(`${[text, ...new Set(excerpts)].join("\n")}\n`);
  } else {
    await io.output.write(`${JSON.stringify({ ...explanation, reasons }, undefined, 2)}\n`);
  }
  return explanation.refused ? EXIT.findings : EXIT.sound;
}

/** An unknown form is a wrong file, not a fault of this program. */
function explainKnown(messages: readonly unknown[], dialect: DialectName | "auto" | undefined): Explanation {
  try {
    return explain(messages, { dialect });
  } catch (error) {
    throw TetherError.isInstance(error) ? new UsageError(error.message) : error;
  }
}
