/** What a checkpoint can store of a value that it cannot store as it is. */

import { safely } from "../../shared/safely.js";
import { isSerializedForm, MOST_LEVELS, storageDemand } from "./storable.js";

/**
 * The value with texts in place of the parts that cannot be stored: a bigint becomes its digits, a part of LangChain
 * its JSON. If that is not enough, everything below the second level that cannot be stored becomes its JSON.
 */
export function storableCopy(value: unknown): unknown {
  try {
    return flatten(withTexts(value, MOST_LEVELS, new Map()));
  } catch {
    // A part cannot be read.
    return textOf(value);
  }
}

/** The JSON of a value, with bigints as texts. */
export function textOf(value: unknown): string {
  const json = safely(
    () => JSON.stringify(value, (_, item) => (isBigint(item) ? String(item) : item)),
    undefined,
  );
  return json ?? "(a value that cannot be written as JSON)";
}

function isBigint(value: unknown): value is bigint {
  return typeof value === "bigint";
}

/** @param known The copies of objects that were met before. An object that contains itself is not copied. */
function withTexts(value: unknown, levels: number, known: Map<object, unknown>): unknown {
  if (isBigint(value)) return String(value);
  if (typeof value !== "object" || value === null || levels === 0) return value;
  if (known.has(value)) return known.get(value);
  known.set(value, value);
  const copy = copyOf(value, (item) => withTexts(item, levels - 1, known));
  known.set(value, copy);
  return copy;
}

/** An object of a class is copied only if it has to be. */
function copyOf(value: object, copyItem: (item: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(copyItem);
  if (storageDemand(value) === undefined) return value;
  if ("lc_serializable" in value || "toJSON" in value) return textOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copyItem(item)]));
}

function flatten(value: unknown, levels = 2): unknown {
  if (storageDemand(value, MOST_LEVELS - 2 + levels) === undefined) return value;
  if (levels === 0) return textOf(value);
  if (Array.isArray(value)) return value.map((item) => flatten(item, levels - 1));
  const fields = Object.entries(Object(value)).filter(([name]) => name !== "lc" || !isSerializedForm(value));
  return Object.fromEntries(fields.map(([name, item]) => [name, flatten(item, levels - 1)]));
}
