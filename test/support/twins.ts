/** Compares two values that two serializers made of the same bytes. */

import { types } from "node:util";

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
