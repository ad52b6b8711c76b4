import { Command } from "@langchain/langgraph";
import { fieldsOfCommand } from "../../langgraph/own-command.js";
import { isRecord } from "../../shared/is-record.js";

/** The messages in the update of a command; undefined if it has none. */
export function messagesOfCommand({ update }: Command): unknown {
  return fieldsOf(update)["messages"];
}

/** A copy of the command with other messages in its update. */
export function commandWithMessages(command: Command, messages: readonly unknown[]): Command {
  const fields = fieldsOfCommand(command);
  return new Command({ ...fields, update: { ...fieldsOf(command.update), messages: [...messages] } });
}

/** The fields of an update: an object, or a list of pairs such as `[["messages", …]]`. Undefined for another value. */
export function readUpdate(update: unknown): Record<string, unknown> | undefined {
  if (isRecord(update)) return update;
  const isPairs = Array.isArray(update) && update.every((pair) => Array.isArray(pair) && pair.length === 2);
  return isPairs ? Object.fromEntries(update) : undefined;
}

function fieldsOf(update: unknown): Record<string, unknown> {
  return readUpdate(update) ?? { ...Object(update) };
}
