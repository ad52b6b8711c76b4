/** What is wrong with the shape of a message, for an error that names it. */

import { recordsIn } from "../../shared/records-in.js";
import {
  demandOnArguments,
  demandOnField,
  type Mend,
  mendBlock,
  mendCall,
  shapeOf,
  storedFields,
} from "./message-shape.js";

/** A part of a message that is not what it must be. */
export interface ShapeIssue {
  /** Such as `tool_calls[1].args`. */
  readonly path: string;
  /** Completes the sentence "Expected `path` to be …". */
  readonly expectation: string;
  readonly value: unknown;
}

/** What each field must be. */
const EXPECTATIONS: ReadonlyMap<string, string> = new Map([
  ["id", "a text"],
  ["name", "a text"],
  ["role", "a text"],
  ["content", "a text or a list of content blocks"],
  ["additional_kwargs", "an object, whose `tool_calls`, if there are any, are a list of objects"],
  ["response_metadata", "an object"],
  ["tool_calls", "a list of tool calls"],
  ["invalid_tool_calls", "a list of tool calls"],
  ["tool_call_id", "the id of a tool call"],
]);

interface Item {
  readonly expectation: string;
  readonly mend: Mend;
}

const CALL: Item = {
  expectation: "a tool call (an object whose `id` and `name` are texts)",
  mend: mendCall,
};

/** What the items of a list must be. */
const ITEMS: ReadonlyMap<string, Item> = new Map([
  ["content", { expectation: "a content block (an object) or a text", mend: mendBlock }],
  ["tool_calls", CALL],
  ["invalid_tool_calls", CALL],
]);

/**
 * The first part of a message, or of the fields of one, that has another shape or cannot be stored. Undefined
 * for a sound message.
 */
export function issueOfShape(message: object): ShapeIssue | undefined {
  const type: unknown = Reflect.get(message, "type");
  for (const [path, mend] of shapeOf(type)) {
    const value: unknown = Reflect.get(message, path);
    if (mend(value) === value) continue;
    const item = ITEMS.get(path);
    if (item === undefined || !Array.isArray(value))
      return { path, expectation: EXPECTATIONS.get(path) ?? "sound", value };
    const index = [...value].findIndex((one) => one === undefined || item.mend(one) !== one);
    return { path: `${path}[${index}]`, expectation: item.expectation, value: value[index] };
  }
  const calls = type === "ai" ? recordsIn(Reflect.get(message, "tool_calls")) : [];
  for (const [index, { args }] of calls.entries()) {
    const expectation = demandOnArguments(args, false);
    if (expectation !== undefined) return { path: `tool_calls[${index}].args`, expectation, value: args };
  }
  return storageIssueOf(message);
}

/** The first field of a message that cannot be stored. */
function storageIssueOf(message: object): ShapeIssue | undefined {
  for (const [path, value] of storedFields(message)) {
    const expectation = demandOnField(path, value);
    if (expectation !== undefined) return { path, expectation, value };
  }
  return undefined;
}
