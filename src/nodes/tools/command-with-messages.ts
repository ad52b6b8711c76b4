import { Command } from "@langchain/langgraph";

/** The messages in the update of a command; undefined if it has none. */
export function messagesOfCommand({ update }: Command): unknown {
  return fieldsOf(update)["messages"];
}

/** A copy of the command with other messages in its update. */
export function commandWithMessages(command: Command, messages: readonly unknown[]): Command {
  const { graph, goto, resume, update } = command;
  return new Command({
    ...(graph !== undefined && { graph }),
    ...(goto !== undefined && { goto }),
    ...(resume !== undefined && { resume }),
    update: { ...fieldsOf(update), messages: [...messages] },
  });
}

/** An update is an object, or a list of pairs: `[["messages", …], ["counter", 1]]`. */
function fieldsOf(update: unknown): Record<string, unknown> {
  const isPairs = Array.isArray(update) && update.every((pair) => Array.isArray(pair) && pair.length === 2);
  return isPairs ? Object.fromEntries(update) : { ...Object(update) };
}
