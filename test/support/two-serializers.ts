/** LangGraph's serializer and the one of this library, side by side. */

import { types } from "node:util";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { type MessageSerializer, messageSerializer } from "../../src/index.js";

export type Outcome = { readonly value: unknown } | { readonly error: string };

/** What a promise gives: a value, or the words of its error. */
export async function outcomeOf(promise: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: String(error) };
  }
}

/**
 * Where two values differ first, or undefined. Objects are the same if they have the same class, the same own keys in
 * the same order, and the same values there. Functions and symbols must be identical.
 */
export function differenceOf(one: unknown, other: unknown, path = "value", depth = 0): string | undefined {
  if (Object.is(one, other)) return undefined;
  const isPair = [one, other].every((value) => typeof value === "object" && value !== null);
  if (!isPair || depth > 2_000) return `${path}: ${String(one)} and ${String(other)}`;
  const [left, right] = [Object(one), Object(other)];
  const keys = Reflect.ownKeys(left);
  const others = Reflect.ownKeys(right);
  if (keys.length !== others.length || keys.some((key, index) => key !== others[index]))
    return `${path}: keys ${keys.map(String)} and ${others.map(String)}`;
  const inside = [
    ["<prototype>", Object.getPrototypeOf(left), Object.getPrototypeOf(right)] as const,
    ["<content>", contentOf(left), contentOf(right)] as const,
    // The stack of an error names the serializer.
    ...keys.filter((key) => key !== "stack").map((key) => [String(key), left[key], right[key]] as const),
  ];
  for (const [name, leftValue, rightValue] of inside) {
    const found = differenceOf(leftValue, rightValue, `${path}.${name}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What an object holds besides its properties. */
function contentOf(value: object): unknown {
  // An object can have the prototype of a map and be none.
  if (types.isMap(value) || types.isSet(value)) return [...value];
  return types.isRegExp(value) ? [value.source, value.flags] : undefined;
}

export interface CountedSerializer extends MessageSerializer {
  /** How many values were handed to LangGraph's serializer. */
  readonly count: () => number;
}

/** It has learned the classes of messages, so it does what it can by itself. */
export async function countedSerializer(): Promise<CountedSerializer> {
  const base = new JsonPlusSerializer();
  let calls = 0;
  const serializer = messageSerializer({
    dumpsTyped: (data) => {
      calls += 1;
      return base.dumpsTyped(data);
    },
    loadsTyped: (type, data) => {
      calls += 1;
      return base.loadsTyped(type, data);
    },
  });
  await serializer.loadsTyped("json", "null");
  calls = 0;
  return { ...serializer, count: () => calls };
}

/** Both write the same bytes of a value, and both read the same value of these bytes. */
export async function expectSame(ours: MessageSerializer, make: () => unknown): Promise<void> {
  const langGraph = new JsonPlusSerializer();
  const expected = await outcomeOf(langGraph.dumpsTyped(make()));
  const written = await outcomeOf(ours.dumpsTyped(make()));
  expect(textOf(written)).toEqual(textOf(expected));
  if (!("value" in expected) || !("value" in written)) return;
  const [type, bytes] = written.value as [string, Uint8Array];
  if (type === "json") expect(bytes.constructor).toBe(Uint8Array);
  await expectSameReading(ours, type, bytes);
}

export async function expectSameReading(
  ours: MessageSerializer,
  type: string,
  data: Uint8Array | string,
): Promise<void> {
  const expected = await outcomeOf(new JsonPlusSerializer().loadsTyped(type, data));
  const read = await outcomeOf(ours.loadsTyped(type, data));
  expect(differenceOf(read, expected)).toBeUndefined();
}

/** The bytes as a text, because a difference of bytes is hard to read. */
function textOf(outcome: Awaited<ReturnType<typeof outcomeOf>>): unknown {
  if (!("value" in outcome)) return outcome;
  const [type, bytes] = outcome.value as [string, Uint8Array];
  return [type, Buffer.from(bytes).toString("latin1")];
}

/**
 * A serializer for a saver that does everything with both serializers, and fails where they differ. It hands out what
 * the one of this library made, so a run goes on with that.
 */
export async function checkedSerializer(): Promise<CountedSerializer> {
  const ours = await countedSerializer();
  const langGraph = new JsonPlusSerializer();
  return {
    count: ours.count,
    dumpsTyped: async (data) => {
      const [written, expected] = await Promise.all([ours.dumpsTyped(data), langGraph.dumpsTyped(data)]);
      expect(textOf({ value: written })).toEqual(textOf({ value: expected }));
      return written;
    },
    loadsTyped: async (type, data) => {
      const [read, expected] = [await ours.loadsTyped(type, data), await langGraph.loadsTyped(type, data)];
      expect(differenceOf(read, expected)).toBeUndefined();
      return read;
    },
  };
}
