import { Command } from "@langchain/langgraph";

/** The same command with other messages in its update. */
export function commandWithMessages(command: Command, messages: readonly unknown[]): Command {
  const { graph, goto, resume, update } = command;
  return new Command({
    ...(graph !== undefined && { graph }),
    ...(goto !== undefined && { goto }),
    ...(resume !== undefined && { resume }),
    update: { ...Object(update), messages: [...messages] },
  });
}
