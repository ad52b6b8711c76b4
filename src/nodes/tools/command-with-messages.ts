import type { BaseMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import { coerceMessage } from "../../history/reading/coerce-message.js";
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

/** What a node writes: an update, a command, or several. */
type Written = object | readonly object[];

/** The messages that an update writes. */
export function messagesOf(update: Written): BaseMessage[] {
  return [update]
    .flat()
    .flatMap((one) => readMessages(isCommand(one) ? messagesOfCommand(one) : Reflect.get(one, "messages")));
}

/** What an update writes to these keys of the state, in order. */
export function valuesOf(update: Written, keys: readonly string[]): Record<string, unknown>[] {
  return [update].flat().flatMap((one) => {
    const fields = (isCommand(one) ? readUpdate(one.update) : readUpdate(one)) ?? {};
    const own = Object.entries(fields).filter(([key]) => keys.includes(key));
    return own.length === 0 ? [] : [Object.fromEntries(own)];
  });
}

export function readMessages(values: unknown): BaseMessage[] {
  return [values].flat().flatMap((value) => coerceMessage(value) ?? []);
}
