/** `explain`: says offline why a provider would refuse a list of messages. */

import { explain } from "../explain.js";
import { readRequestBody } from "../request-body.js";
import { messagesIn, parseThreads, readText } from "../targets/file-target.js";
import { UsageError } from "../targets/target.js";
import { threadOfList } from "../thread-store.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import type { CommandLine } from "./options.js";
import { excerptOf } from "./text.js";

export async function runExplain({ options, operands }: CommandLine, io: CommandIo): Promise<ExitCode> {
  const [file, ...others] = operands;
  if (file === undefined || others.length > 0)
    throw new UsageError("Expected one file, or - for standard input: langgraph-tether explain FILE.");
  const { dialect, format = "text" } = options;
  if (dialect === "auto")
    throw new UsageError("explain asks for the rules of one provider: name it with --dialect.");
  const name = file === "-" ? "standard input" : file;
  const [value, ...more] = parseThreads(await readText({ file, ...io }), name);
  const body = readRequestBody(value);
  const messages = body?.entries ?? messagesIn(value);
  if (messages === undefined)
    throw new UsageError(
      `Expected ${name} to be a list of messages, what getState returned, or the body of a request to OpenAI, Anthropic or Gemini.`,
    );
  if (more.length > 0)
    throw new UsageError(
      `${name} has ${more.length + 1} lists of messages. explain reads one; doctor --file reads several.`,
    );
  const { text, ...explanation } = explain(body === undefined ? messages : Object(value), { dialect });
  const thread = options["no-redact"] === true ? threadOfList(messages) : undefined;
  if (format === "text") {
    const excerpts =
      thread === undefined
        ? []
        : explanation.reasons.map(
            ({ index }) => `${body?.name ?? "messages"}[${index}]: ${excerptOf(thread, index)}`,
          );
    await io.output.write(`${[text, ...new Set(excerpts)].join("\n")}\n`);
  } else {
    const reasons = explanation.reasons.map((reason) => ({
      ...reason,
      ...(thread !== undefined && { excerpt: excerptOf(thread, reason.index) }),
    }));
    await io.output.write(
      `${JSON.stringify({ ...explanation, reasons }, undefined, format === "json" ? 2 : undefined)}\n`,
    );
  }
  return explanation.refused ? EXIT.findings : EXIT.sound;
}
