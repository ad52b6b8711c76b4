/**
 * The shape of a message: what code relies on when it reads a field. Messages of another shape exist, because a
 * client or another agent can write anything into a state.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isPlainObject } from "../../shared/is-plain-object.js";
import { isRecord } from "../../shared/is-record.js";
import { recordsIn } from "../../shared/records-in.js";
import { isAIMessage } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";
import { MOST_LEVELS, storageDemand } from "./storable.js";
import { storableCopy, textOf } from "./storable-copy.js";

/** Contract: returns the same value if it is sound. Otherwise the part of it that can be read. */
export type Mend = (value: unknown) => unknown;

const isText = (value: unknown): boolean => typeof value === "string";
const isMissing = (value: unknown): boolean => value === undefined || value === null;
const isTextOrMissing = (value: unknown): boolean => isText(value) || isMissing(value);

/** @param mendItem An item that becomes undefined leaves the list. */
function listOf(mendItem: Mend, mendOther: Mend): Mend {
  const isSound = (item: unknown): boolean => item !== undefined && mendItem(item) === item;
  return (list) => {
    if (!Array.isArray(list)) return mendOther(list);
    // `every` would skip the holes of a list.
    return [...list].every(isSound) ? list : [...list].map(mendItem).filter((item) => item !== undefined);
  };
}

/** A call can have any arguments here: see `refuseArguments`. */
export const mendCall: Mend = (entry) => {
  if (!isRecord(entry)) return undefined;
  const { id, name } = entry;
  if (isTextOrMissing(id) && isTextOrMissing(name)) return entry;
  return { ...entry, id: isText(id) ? id : undefined, name: isText(name) ? name : "" };
};

export const mendBlock: Mend = (block) => {
  if (isRecord(block) || isText(block)) return block;
  return isMissing(block) ? undefined : { type: "text", text: textOf(block) };
};

const mendName: Mend = (name) => (isTextOrMissing(name) ? name : undefined);
const orNone: Mend = (list) => (list === undefined ? list : []);
const mendCalls = listOf(mendCall, orNone);
const mendRawCalls = listOf((entry) => (isRecord(entry) ? entry : undefined), orNone);

const EVERY: Readonly<Record<string, Mend>> = {
  id: mendName,
  name: mendName,
  content: listOf(mendBlock, (content) =>
    isText(content) ? content : isMissing(content) ? "" : textOf(content),
  ),
  additional_kwargs: (value) => {
    if (!isRecord(value)) return {};
    const tool_calls = mendRawCalls(value["tool_calls"]);
    return tool_calls === value["tool_calls"] ? value : { ...value, tool_calls };
  },
  response_metadata: (value) => (isRecord(value) ? value : {}),
};

const SHAPES: Readonly<Record<string, typeof EVERY>> = {
  ai: { ...EVERY, tool_calls: mendCalls, invalid_tool_calls: mendCalls },
  tool: { ...EVERY, tool_call_id: (id) => (isText(id) ? id : "") },
  generic: { ...EVERY, role: (role) => (isText(role) ? role : "user") },
};

/** Prepared, because every message passes here. */
const ENTRIES = new Map(Object.entries(SHAPES).map(([type, fields]) => [type, Object.entries(fields)]));
const ENTRIES_OF_OTHERS = Object.entries(EVERY);

/** The fields of a message of this type, with what makes each of them sound. */
export function shapeOf(type: unknown): readonly [name: string, mend: Mend][] {
  return ENTRIES.get(String(type)) ?? ENTRIES_OF_OTHERS;
}

/** Messages whose values were found storable. Found once for each message, because it is costly. */
const storable = new WeakSet<object>();

/**
 * A copy of the message in which each field has its shape and each value can be stored. It keeps what can be
 * read: a value that is nested too deep becomes its JSON text, and a call with such arguments becomes an
 * invalid call. A sound message is returned as it is.
 */
export function mendMessage<T extends BaseMessage>(message: T): T {
  const changes: Record<string, unknown> = {};
  for (const [name, mend] of shapeOf(message.type)) {
    const value: unknown = Reflect.get(message, name);
    const sound = mend(value);
    if (sound !== value) changes[name] = sound;
  }
  const isStorable = storable.has(message);
  if (isAIMessage(message)) {
    const { tool_calls, invalid_tool_calls } = message;
    const lists = { tool_calls, invalid_tool_calls, ...changes };
    Object.assign(changes, refuseArguments(lists.tool_calls, lists.invalid_tool_calls, isStorable));
  }
  if (!isStorable) {
    const isChanged = Object.keys(changes).length > 0;
    for (const [name, value] of storedFields(isChanged ? { ...message, ...changes } : message))
      if (demandOnField(name, value) !== undefined) changes[name] = storableCopy(value);
  }
  if (Object.keys(changes).length > 0) return copyMessage<BaseMessage>(message, changes) as T;
  storable.add(message);
  return message;
}

/** Calls whose arguments cannot be used or stored become invalid calls, which are not run. */
function refuseArguments(calls: unknown, invalidCalls: unknown, isStorable: boolean): object {
  const kept: object[] = [];
  const refused: object[] = [];
  for (const call of recordsIn(calls)) {
    const demand = demandOnArguments(call["args"], isStorable);
    if (demand === undefined) kept.push(call);
    else
      refused.push({
        ...call,
        type: "invalid_tool_call",
        args: textOf(call["args"]),
        error: `they must be ${demand}`,
      });
  }
  if (refused.length === 0) return {};
  return { tool_calls: kept, invalid_tool_calls: [...recordsIn(invalidCalls), ...refused] };
}

/** What arguments must be that cannot be used or stored; undefined for sound ones. */
export function demandOnArguments(args: unknown, isStorable: boolean): string | undefined {
  if (args !== undefined && !isRecord(args)) return "an object";
  return isStorable ? undefined : storageDemand(args);
}

/** The list and the entries of calls add two levels to the arguments. */
export function demandOnField(name: string, value: unknown): string | undefined {
  return storageDemand(value, name === "tool_calls" ? MOST_LEVELS + 2 : MOST_LEVELS);
}

/** What a checkpoint stores of a message: its fields, and others that its constructor received. */
export function storedFields(message: { lc_kwargs?: unknown }): [string, unknown][] {
  const stored: [string, unknown][] = [];
  const add = (name: string, value: unknown): void => {
    if (mayBeRefused(value) && !name.startsWith("lc_")) stored.push([name, value]);
  };
  const received = isRecord(message.lc_kwargs) ? message.lc_kwargs : {};
  for (const name of Object.keys(received))
    add(name, Object.hasOwn(message, name) ? Reflect.get(message, name) : received[name]);
  for (const name of Object.keys(message))
    if (!Object.hasOwn(received, name)) add(name, Reflect.get(message, name));
  return stored;
}

/** Texts, numbers, functions and empty lists and objects are never a problem. */
function mayBeRefused(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "bigint";
  try {
    if (Array.isArray(value)) return value.length > 0;
    return !isPlainObject(value) || Reflect.ownKeys(value).length > 0;
  } catch {
    // A value that cannot be read cannot be stored.
    return true;
  }
}
