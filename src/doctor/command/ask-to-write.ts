import type { CommandIo } from "./command-io.js";

/** Whether the operator agrees. Anything but `y` or `yes` is a no. */
export async function askToWrite(question: string, io: Pick<CommandIo, "ask">): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test(await io.ask(`${question} [y/N] `));
}
