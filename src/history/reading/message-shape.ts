/**
 * The shape of a message: what code relies on when it reads a field. Messages of another shape exist, because a
 * client or another agent can write anything into a state.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { copyMessage } from "../messages/copy-message.js";
import { MOST_LEVELS, storageDemand } from "./storable.js";
import { storableCopy, textOf } from "./storable-copy.js";

/** A part of a message that is not what it must be. */
export interface ShapeIssue {
  /** Such as `tool_calls[1].args`. */
  readonly path: string;
  /** Completes the sentence "Expected `path` to be …". */
  readonly expectation: string;
  readonly value: unknown;
}

/** Contract: returns the same value if it is sound. Otherwise the part of it that can be read. */
type Mend = (value: unknown) => unknown;

/** What a field must be, and the items of a list. */
interface Shape {
  readonly expectation: string;
  readonly mend: Mend;
  readonly item?: Shape;
}

type Fields = Readonly<Record<string, Shape>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isMissing = (value: unknown): boolean => value === undefined || value === null;
const isTextOrMissing = (value: unknown): boolean => isText(value) || isMissing(value);

/** An item that becomes undefined leaves the list. */
function listOf(item: Shape, expectation: string, ofOther: Mend): Shape {
  const isSound = (value: unknown): boolean => value !== undefined && item.mend(value) === value;
  const mend: Mend = (list) => {
    if (!Array.isArray(list)) return ofOther(list);
    // `every` would skip the holes of a list.
    return [...list].every(isSound) ? list : [...list].map(item.mend).filter((value) => value !== undefined);
  };
  return { expectation, mend, item };
}

const NAME: Shape = { expectation: "a text", mend: (value) => (isTextOrMissing(value) ? value : undefined) };
const RECORD: Shape = { expectation: "an object", mend: (value) => (isRecord(value) ? value : {}) };
const ENTRY: Shape = { expectation: "an object", mend: (entry) => (isRecord(entry) ? entry : undefined) };

/** A call can have any arguments here: see `withoutRefusedCalls`. */
const CALL: Shape = {
  expectation: "a tool call (an object whose `id` and `name` are texts)",
  mend: (entry) => {
    if (!isRecord(entry)) return undefined;
    const { id, name } = entry;
    if (isTextOrMissing(id) && isTextOrMissing(name)) return entry;
    return { ...entry, id: isText(id) ? id : undefined, name: isText(name) ? name : "" };
  },
};

const orNone: Mend = (list) => (list === undefined ? list : []);
const CALLS = listOf(CALL, "a list of tool calls", orNone);
const RAW_CALLS = listOf(ENTRY, "a list of tool calls", orNone);

const BLOCKS = listOf(
  {
    expectation: "a content block (an object) or a text",
    mend: (block) => {
      if (isRecord(block) || isText(block)) return block;
      return isMissing(block) ? undefined : { type: "text", text: textOf(block) };
    },
  },
  "a text or a list of content blocks",
  (content) => (isText(content) ? content : isMissing(content) ? "" : textOf(content)),
);

const EVERY: Fields = {
  id: NAME,
  name: NAME,
  content: BLOCKS,
  additional_kwargs: {
    expectation: "an object, whose `tool_calls`, if there are any, are a list of objects",
    mend: (value) => {
      if (!isRecord(value)) return {};
      const tool_calls = RAW_CALLS.mend(value["tool_calls"]);
      return tool_calls === value["tool_calls"] ? value : { ...value, tool_calls };
    },
  },
  response_metadata: RECORD,
};

const SHAPES: Readonly<Record<string, Fields>> = {
  ai: { ...EVERY, tool_calls: CALLS, invalid_tool_calls: CALLS },
  tool: {
    ...EVERY,
    tool_call_id: { expectation: "the id of a tool call", mend: (id) => (isText(id) ? id : "") },
  },
  generic: { ...EVERY, role: { expectation: "a text", mend: (role) => (isText(role) ? role : "user") } },
};

/** Prepared, because every message passes here. */
const ENTRIES = new Map(Object.entries(SHAPES).map(([type, fields]) => [type, Object.entries(fields)]));
const ENTRIES_OF_OTHERS = Object.entries(EVERY);

function shapesOf(message: object): readonly [string, Shape][] {
  return ENTRIES.get(String(Reflect.get(message, "type"))) ?? ENTRIES_OF_OTHERS;
}

/**
 * The first part of a message, or of the fields of one, that has another shape or cannot be stored. Undefined
 * for a sound message.
 */
export function issueOfShape(message: object): ShapeIssue | undefined {
  for (const [path, { expectation, mend, item }] of shapesOf(message)) {
    const value: unknown = Reflect.get(message, path);
    if (mend(value) === value) continue;
    if (item === undefined || !Array.isArray(value)) return { path, expectation, value };
    const index = [...value].findIndex((one) => one === undefined || item.mend(one) !== one);
    return { path: `${path}[${index}]`, expectation: item.expectation, value: value[index] };
  }
  const calls = isAI(message) ? recordsIn(Reflect.get(message, "tool_calls")) : [];
  for (const [index, { args }] of calls.entries()) {
    const expectation = demandOnArguments(args, false);
    if (expectation !== undefined) return { path: `tool_calls[${index}].args`, expectation, value: args };
  }
  return storageIssueOf(message);
}

/** The first field of a message that cannot be stored. */
export function storageIssueOf(message: object): ShapeIssue | undefined {
  for (const [path, value] of storedFields(message)) {
    const expectation = demandOnField(path, value);
    if (expectation !== undefined) return { path, expectation, value };
  }
  return undefined;
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
  for (const [name, { mend }] of shapesOf(message)) {
    const value: unknown = Reflect.get(message, name);
    const sound = mend(value);
    if (sound !== value) changes[name] = sound;
  }
  const isStorable = storable.has(message);
  if (isAI(message) && hasItems(changes["tool_calls"] ?? Reflect.get(message, "tool_calls")))
    Object.assign(changes, refuseArguments({ ...message, ...changes }, isStorable));
  if (!isStorable) {
    for (const [name, value] of storedFields({ ...message, ...changes }))
      if (demandOnField(name, value) !== undefined) changes[name] = storableCopy(value);
  }
  if (Object.keys(changes).length > 0) return copyMessage<BaseMessage>(message, changes) as T;
  storable.add(message);
  return message;
}

type Call = Record<string, unknown>;

/** Calls whose arguments cannot be used or stored become invalid calls, which are not run. */
function refuseArguments(message: object, isStorable: boolean): object {
  const calls = recordsIn(Reflect.get(message, "tool_calls"));
  const demands = calls.map(({ args }) => demandOnArguments(args, isStorable));
  if (demands.every((demand) => demand === undefined)) return {};
  const refused = calls.map((call, index) => ({
    ...call,
    type: "invalid_tool_call",
    args: textOf(call["args"]),
    error: `they must be ${demands[index]}`,
  }));
  return {
    tool_calls: calls.filter((_, index) => demands[index] === undefined),
    invalid_tool_calls: [
      ...recordsIn(Reflect.get(message, "invalid_tool_calls")),
      ...refused.filter((_, index) => demands[index] !== undefined),
    ],
  };
}

function isAI(message: object): boolean {
  return Reflect.get(message, "type") === "ai";
}

function hasItems(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

function recordsIn(list: unknown): readonly Call[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function demandOnArguments(args: unknown, isStorable: boolean): string | undefined {
  if (args !== undefined && !isRecord(args)) return "an object";
  return isStorable ? undefined : storageDemand(args);
}

/** The list and the entries of calls add two levels to the arguments. */
function demandOnField(name: string, value: unknown): string | undefined {
  return storageDemand(value, name === "tool_calls" ? MOST_LEVELS + 2 : MOST_LEVELS);
}

/** What a checkpoint stores of a message: its fields, and others that its constructor received. */
function storedFields({ lc_kwargs, ...fields }: { lc_kwargs?: unknown }): [string, unknown][] {
  const all = Object.entries(isRecord(lc_kwargs) ? { ...lc_kwargs, ...fields } : fields);
  // Texts, numbers and functions are never a problem.
  const isChecked = (value: unknown): boolean =>
    typeof value === "bigint" || (typeof value === "object" && value !== null);
  return all.filter(([name, value]) => isChecked(value) && !name.startsWith("lc_"));
}
