/**
 * A message's shape: what code relies on when it reads a field. Other shapes exist, because a client or another agent
 * can write anything into a state.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isRecord, recordsIn } from "../shared/values.js";
import { isAIMessage } from "./call.js";
import { copyMessage } from "./message.js";
import { jsonText, MOST_LEVELS, mayDemand, storableCopy, storageDemand } from "./storable.js";

/** Contract: returns a sound value as it is, and otherwise its readable part. */
type RepairValue = (value: unknown) => unknown;

const isText = (value: unknown): boolean => typeof value === "string";
const isMissing = (value: unknown): boolean => value === undefined || value === null;
const isTextOrMissing = (value: unknown): boolean => isText(value) || isMissing(value);

/** @param repairItem An item that becomes undefined leaves the list. */
function listOf(repairItem: RepairValue, repairOther: RepairValue): RepairValue {
  return (list) => {
    if (!Array.isArray(list)) return repairOther(list);
    // `every` would skip the holes of a list.
    for (const item of list)
      if (item === undefined || repairItem(item) !== item)
        return [...list].map(repairItem).filter((repaired) => repaired !== undefined);
    return list;
  };
}

/** A call can have any arguments here: see `refuseArguments`. */
const repairCall: RepairValue = (entry) => {
  if (!isRecord(entry)) return undefined;
  const { id, name } = entry;
  if (isTextOrMissing(id) && isTextOrMissing(name)) return entry;
  return { ...entry, id: isText(id) ? id : undefined, name: isText(name) ? name : "" };
};

const repairBlock: RepairValue = (block) => {
  if (isRecord(block) || isText(block)) return block;
  return isMissing(block) ? undefined : { type: "text", text: jsonText(block) };
};

const repairName: RepairValue = (name) => (isTextOrMissing(name) ? name : undefined);
const repairCalls = listOf(repairCall, (list) => (list === undefined ? list : []));
/** OpenAI's client keeps a host's null. */
const repairRawCalls = listOf(
  (entry) => (isRecord(entry) ? entry : undefined),
  (list) => (isMissing(list) ? list : []),
);

const repairContent = listOf(repairBlock, (content) =>
  isText(content) ? content : isMissing(content) ? "" : jsonText(content),
);
const repairKwargs: RepairValue = (value) => {
  if (!isRecord(value)) return {};
  const tool_calls = repairRawCalls(value["tool_calls"]);
  return tool_calls === value["tool_calls"] ? value : { ...value, tool_calls };
};

/** What a field must be, and what makes it so. */
interface Shape {
  readonly repair: RepairValue;
  /** Completes the sentence "Expected the field to be …". */
  readonly expectation: string;
  /** The same for the items of a list. */
  readonly item?: Shape;
}

const TEXT: Shape = { repair: repairName, expectation: "a string" };
const CALLS: Shape = {
  repair: repairCalls,
  expectation: "a list of tool calls",
  item: { repair: repairCall, expectation: "a tool call (an object whose `id` and `name` are strings)" },
};

const EVERY: Readonly<Record<string, Shape>> = {
  id: TEXT,
  name: TEXT,
  content: {
    repair: repairContent,
    expectation: "a string or a list of content blocks",
    item: { repair: repairBlock, expectation: "a content block (an object) or a string" },
  },
  additional_kwargs: {
    repair: repairKwargs,
    expectation: "an object, whose `tool_calls`, if there are any, are a list of objects",
  },
  response_metadata: { repair: (value) => (isRecord(value) ? value : {}), expectation: "an object" },
};

/** Fields that only messages of one type have. */
const OF_TYPE: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  ai: { tool_calls: CALLS, invalid_tool_calls: CALLS },
  tool: { tool_call_id: { repair: (id) => (isText(id) ? id : ""), expectation: "the id of a tool call" } },
  generic: { role: { repair: (role) => (isText(role) ? role : "user"), expectation: "a string" } },
};

const OF_EVERY = Object.entries(EVERY);
const FIELDS = new Map<unknown, typeof OF_EVERY>(
  Object.entries(OF_TYPE).map(([type, own]) => [type, [...OF_EVERY, ...Object.entries(own)]]),
);

function shapesOf(type: unknown): readonly (readonly [name: string, shape: Shape])[] {
  return FIELDS.get(type) ?? OF_EVERY;
}

/**
 * A copy of the message in which each field has its shape and each value can be stored. It keeps what is readable: a
 * value that is nested too deep becomes its JSON text, and a call with such arguments becomes an invalid call. A sound
 * message is returned as it is.
 */
export function repairMessage<T extends BaseMessage>(message: T): T {
  return issueOfShape(message) === undefined ? message : repairFields(message);
}

function repairFields<T extends BaseMessage>(message: T): T {
  const changes: Record<string, unknown> = {};
  for (const [name, { repair }] of shapesOf(message.type)) {
    const value: unknown = Reflect.get(message, name);
    const sound = repair(value);
    if (sound !== value) changes[name] = sound;
  }
  if (isAIMessage(message)) {
    const { tool_calls, invalid_tool_calls } = message;
    const lists = { tool_calls, invalid_tool_calls, ...changes };
    Object.assign(changes, refuseArguments(lists.tool_calls, lists.invalid_tool_calls));
  }
  const { lc_kwargs, ...fields } = message;
  for (const [name, value] of Object.entries({
    ...(isRecord(lc_kwargs) && lc_kwargs),
    ...fields,
    ...changes,
  }))
    if (!name.startsWith("lc_") && demandOnField(name, value) !== undefined)
      changes[name] = storableCopy(value);
  return Object.keys(changes).length === 0 ? message : (copyMessage<BaseMessage>(message, changes) as T);
}

/**
 * A copy of the message with nothing in the place of each null, as hosts and clients mean it: no calls, no content, no
 * arguments. A message without such a null is returned as it is.
 */
export function withoutNulls<T extends BaseMessage>(message: T): T {
  const changes: Record<string, unknown> = {};
  for (const [name, { repair }] of shapesOf(message.type)) {
    const value: unknown = Reflect.get(message, name);
    if (value === null) changes[name] = repair(value) ?? undefined;
  }
  const calls: unknown = Reflect.get(message, "tool_calls");
  if (Array.isArray(calls) && calls.some((call) => Object(call)["args"] === null))
    changes["tool_calls"] = calls.map((call) =>
      Object(call)["args"] === null ? { ...call, args: {} } : call,
    );
  return Object.keys(changes).length === 0 ? message : (copyMessage<BaseMessage>(message, changes) as T);
}

/** Calls whose arguments cannot be used or stored become invalid calls, which are not run. */
function refuseArguments(calls: unknown, invalidCalls: unknown): object {
  const kept: object[] = [];
  const refused: object[] = [];
  for (const call of recordsIn(calls)) {
    const demand = demandOnArguments(call["args"]);
    if (demand === undefined) kept.push(call);
    else
      refused.push({
        ...call,
        type: "invalid_tool_call",
        args: jsonText(call["args"]),
        error: `they must be ${demand}`,
      });
  }
  if (refused.length === 0) return {};
  return { tool_calls: kept, invalid_tool_calls: [...recordsIn(invalidCalls), ...refused] };
}

/** What unusable or unstorable arguments must be; undefined for sound ones. */
function demandOnArguments(args: unknown): string | undefined {
  if (args !== undefined && !isRecord(args)) return "an object";
  return storageDemand(args);
}

/** The list of calls and its entries add two levels to the arguments. */
function demandOnField(name: string, value: unknown): string | undefined {
  return storageDemand(value, name === "tool_calls" ? MOST_LEVELS + 2 : MOST_LEVELS);
}

/*
 * What is wrong with a message's shape, for an error that names it.
 */

/** A part of a message that is not what it must be. */
export interface ShapeIssue {
  /** Such as `tool_calls[1].args`. */
  readonly path: string;
  /** Completes the sentence "Expected `path` to be …". */
  readonly expectation: string;
  readonly value: unknown;
}

/**
 * The first part of a message, or of a message's fields, that has another shape or cannot be stored. Undefined for a
 * sound message.
 */
export function issueOfShape(message: object): ShapeIssue | undefined {
  const type: unknown = Reflect.get(message, "type");
  for (const [path, { repair, expectation, item }] of shapesOf(type)) {
    const value: unknown = message[path as never];
    if (repair(value) === value) continue;
    if (item === undefined || !Array.isArray(value)) return { path, expectation, value };
    const index = [...value].findIndex((one) => one === undefined || item.repair(one) !== one);
    return { path: `${path}[${index}]`, expectation: item.expectation, value: value[index] };
  }
  if (type === "ai") {
    const calls = recordsIn(Reflect.get(message, "tool_calls"));
    for (const [index, { args }] of calls.entries()) {
      const expectation = demandOnArguments(args);
      if (expectation !== undefined) return { path: `tool_calls[${index}].args`, expectation, value: args };
    }
  }
  return storageIssueOf(message);
}

/**
 * The first field that a checkpoint cannot store. A checkpoint also stores other values that the constructor received.
 */
function storageIssueOf(message: object): ShapeIssue | undefined {
  const { lc_kwargs } = message as { lc_kwargs?: unknown };
  return firstIssue(message) ?? (isRecord(lc_kwargs) ? firstIssue(lc_kwargs, message) : undefined);
}

function firstIssue(fields: object, others?: object): ShapeIssue | undefined {
  // The key of a `for in` loop is the fastest way to read a value.
  for (const path in fields) {
    const value: unknown = fields[path as never];
    // Most values need no check.
    if (!mayDemand(value) || path.startsWith("lc_") || (others && Object.hasOwn(others, path))) continue;
    const expectation = demandOnField(path, value);
    if (expectation !== undefined) return { path, expectation, value };
  }
  return undefined;
}
