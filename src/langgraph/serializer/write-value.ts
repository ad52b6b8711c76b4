/** Writes what LangGraph's serializer writes: plain values, messages, snapshots and sends directly. */

import { Send } from "@langchain/langgraph";
import { isPlainObject } from "../../shared/is-plain-object.js";
import { type MessageClasses, UNDEFINED } from "./message-classes.js";
import type { MessageText } from "./message-text.js";

/** A part of the text. What LangGraph has to write comes as a promise; it is undefined if LangGraph cannot write it. */
export type Piece = string | Promise<string | undefined>;

export interface Writer {
  readonly classes: MessageClasses;
  readonly messageText: MessageText;
  /** Writes a member of an object with LangGraph's serializer. Contract: does not reject. */
  readonly writeMember: (key: string, value: unknown) => Promise<string | undefined>;
}

/** A value with a cycle is deeper, and so it is left to LangGraph, which cuts cycles. */
const DEEPEST = 200;
const UNDEFINED_TEXT = JSON.stringify(UNDEFINED);
const SEND_PROTOTYPE: unknown = Object.getPrototypeOf(new Send("node", undefined));

/**
 * The pieces are what the value is at the time of the call, also if it is changed before a promise settles.
 *
 * @throws RangeError if the value is nested deeper than 200, or has a cycle. Whatever a getter of the value throws.
 */
export function writeValue(data: unknown, { classes, messageText, writeMember }: Writer): readonly Piece[] {
  const snapshotPrototype: unknown = Object.getPrototypeOf(new classes.snapshot(undefined));
  const pieces: Piece[] = [];
  let text = "";
  write(data, "", 0);
  pieces.push(text);
  return pieces;

  function write(value: unknown, key: string, depth: number): void {
    if (value === undefined) text += UNDEFINED_TEXT;
    else if (
      value === null ||
      (typeof value !== "object" && typeof value !== "bigint" && typeof value !== "function")
    )
      text += JSON.stringify(value);
    else if (depth > DEEPEST) throw tooDeep();
    else if (!writeDirectly(value, depth)) {
      assertShallow(value, depth);
      pieces.push(text, writeMember(key, value));
      text = "";
    }
  }

  /** @returns False, and writes nothing, if LangGraph has to write the value. */
  function writeDirectly(value: object | bigint, depth: number): boolean {
    if (typeof value !== "object") return false;
    const prototype: object | null = Object.getPrototypeOf(value);
    const messageClass = prototype === null ? undefined : classes.byPrototype.get(prototype);
    if (messageClass !== undefined) {
      const message = messageText(value, messageClass);
      if (message === undefined) return false;
      text += message;
      return true;
    }
    const { toJSON, lg_name } = value as Record<string, unknown>;
    if (prototype === SEND_PROTOTYPE) {
      if (lg_name !== "Send" || Object.hasOwn(value, "toJSON")) return false;
      const { node, args, timeout } = value as Send;
      writeMembers({ node, args, ...(timeout !== undefined && { timeout }) }, depth);
    } else if (typeof toJSON === "function" || lg_name === "Send") return false;
    else if (Array.isArray(value)) writeItems(value, depth);
    else if (prototype === snapshotPrototype)
      writeMembers({ lc: 2, type: "delta_snapshot", value: Reflect.get(value, "value") }, depth);
    else if (isPlainObject(value) && prototype !== null) writeMembers(value, depth);
    else return false;
    return true;
  }

  function writeItems(items: readonly unknown[], depth: number): void {
    text += "[";
    for (let index = 0; index < items.length; index += 1) {
      if (index > 0) text += ",";
      const item = items[index];
      if (isLeftOut(item)) text += "null";
      else write(item, String(index), depth + 1);
    }
    text += "]";
  }

  function writeMembers(members: Readonly<Record<string, unknown>>, depth: number): void {
    let before = "{";
    for (const key of Object.keys(members)) {
      const value = members[key];
      if (isLeftOut(value)) continue;
      text += `${before}${JSON.stringify(key)}:`;
      before = ",";
      write(value, key, depth + 1);
    }
    text += before === "{" ? "{}" : "}";
  }
}

/** What JSON has no word for: it leaves it out of objects, and puts null into lists. */
function isLeftOut(value: unknown): boolean {
  if (typeof value === "function") return !("toJSON" in value || "lg_name" in value);
  return typeof value === "symbol";
}

/** LangGraph cuts the cycles of a value from its root. A part that is written by itself must have none. */
function assertShallow(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > DEEPEST) throw tooDeep();
  for (const key of Object.keys(value)) assertShallow(Reflect.get(value, key), depth + 1);
}

function tooDeep(): RangeError {
  return new RangeError(`Expected at most ${DEEPEST} levels, and no cycle.`);
}
