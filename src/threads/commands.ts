/** Reads and changes the updates and commands that nodes, tools and clients write. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { Command, isCommand, Send } from "@langchain/langgraph";
import { coerceMessage } from "../history/read-messages.js";
import { callIdOf, isResult } from "../history/result.js";
import { defined, isRecord, pickFields } from "../shared/values.js";
import type { Writes } from "./langgraph/read-checkpoints.js";

/** The messages in a command's update; undefined if it has none. */
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

type Update = object | readonly object[];

/** The updates in what a node writes, each with its fields. */
export function updatesIn(written: unknown): Record<string, unknown>[] {
  const several: readonly unknown[] = [written].flat();
  return several.map((one) => readUpdate(isCommand(one) ? one.update : one)).filter(isRecord);
}

export function messagesOf(update: Update): BaseMessage[] {
  return updatesIn(update).flatMap(({ messages }) => messagesAmong(messages));
}

/** The call's result in an update. */
export function resultIn(update: Update, callId: string): ToolMessage | undefined {
  return messagesOf(update)
    .filter(isResult)
    .find((result) => callIdOf(result) === callId);
}

/** What an update writes to own keys, in order. */
export function ownValuesOf(update: Update, isOwnKey: (name: string) => boolean): Record<string, unknown>[] {
  const own = updatesIn(update).map((fields) => pickFields(fields, isOwnKey));
  return own.filter((fields) => Object.keys(fields).length > 0);
}

export function messagesAmong(values: unknown): BaseMessage[] {
  return [values].flat().flatMap((value) => coerceMessage(value) ?? []);
}

/** What a task wrote to the history, and to own keys, each in order. */
export interface Written {
  readonly messages: BaseMessage[];
  readonly values: Writes;
}

export function readWrites(writes: Writes): Written {
  return {
    messages: messagesAmong(writes.flatMap(([channel, value]) => (channel === "messages" ? value : []))),
    values: writes.filter(([channel]) => channel !== "messages"),
  };
}

/** The messages in a run's input, as they were given. */
export function givenMessages(input: unknown): unknown {
  return isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
}

/** The ids of an input's messages. The reducer writes an id into a message that comes without one. */
export function idsInInput(input: unknown): string[] {
  const ids = [givenMessages(input)].flat().map((message) => (isRecord(message) ? message["id"] : undefined));
  return ids.filter((id) => typeof id === "string");
}

/*
 * `Command` and `Send` from another copy of LangGraph. A program that mixes `import` and `require` has two copies.
 */

/** LangGraph has such a check only for a `Command`. */
export function isSend(value: unknown): value is Send {
  return isRecord(value) && value["lg_name"] === "Send" && typeof value["node"] === "string";
}

/** The fields that are set in a command, to make another command with some of them replaced. */
export function fieldsOfCommand({ graph, goto, resume, update }: Command) {
  return defined({ graph, goto, resume, update });
}

/**
 * The value that a tool returned. If it is a command, each `Send` in it is remade by this copy of LangGraph, which
 * accepts no other.
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
