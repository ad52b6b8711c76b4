import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { Command, isCommand, Send } from "@langchain/langgraph";
import { coerceMessage } from "../history/read-messages.js";
import { callIdOf, isResult } from "../history/result.js";
import { defined, isRecord, pickFields } from "../shared/values.js";

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

/** The updates in what a node writes, each with its fields. */
export function updatesIn(written: unknown): Record<string, unknown>[] {
  const several: readonly unknown[] = [written].flat();
  return several.map((one) => readUpdate(isCommand(one) ? one.update : one)).filter(isRecord);
}

/** The messages that an update writes. */
export function messagesOf(update: Written): BaseMessage[] {
  return updatesIn(update).flatMap(({ messages }) => messagesAmong(messages));
}

/** The result of a call that an update writes. */
export function resultIn(update: Written, callId: string): ToolMessage | undefined {
  return messagesOf(update)
    .filter(isResult)
    .find((result) => callIdOf(result) === callId);
}

/** What an update writes to these keys of the state, in order. */
export function valuesOf(update: Written, keys: readonly string[]): Record<string, unknown>[] {
  const own = updatesIn(update).map((fields) => pickFields(fields, (key) => keys.includes(key)));
  return own.filter((fields) => Object.keys(fields).length > 0);
}

/** Those of these values that are messages. Others are left out. */
export function messagesAmong(values: unknown): BaseMessage[] {
  return [values].flat().flatMap((value) => coerceMessage(value) ?? []);
}

/*
 * `Command` and `Send` of another copy of LangGraph. A program that mixes `import` and `require` has two copies.
 */

/** LangGraph has a check of this kind for a `Command` only. */
export function isSend(value: unknown): value is Send {
  return isRecord(value) && value["lg_name"] === "Send" && typeof value["node"] === "string";
}

/** The fields of a command that are set, to make another command with some of them replaced. */
export function fieldsOfCommand({ graph, goto, resume, update }: Command) {
  return defined({ graph, goto, resume, update });
}

/**
 * The value that a tool returned. If it is a command, each `Send` in it becomes one of this copy: LangGraph accepts no
 * other.
 */
export function withOwnSends(value: unknown): unknown {
  if (!isCommand(value)) return value;
  const targets = [value.goto ?? []].flat();
  if (!targets.some(isSend)) return value;
  const goto = targets.map((target) => {
    if (!isSend(target)) return target;
    const { node, args, timeout } = target;
    return new Send(node, args, timeout === undefined ? undefined : { timeout });
  });
  return new Command({ ...fieldsOfCommand(value), goto });
}
