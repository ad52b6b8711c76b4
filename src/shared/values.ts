/** What kind of value a value is. */

/** Whether a value is an object with fields: not null, and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value was written as `{}` or has no prototype. The prototype is not compared: each realm has its own. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The text in a field; undefined if there is none. */
export function textIn(value: unknown, name: string): string | undefined {
  const field = isRecord(value) ? value[name] : undefined;
  return typeof field === "string" ? field : undefined;
}

/** A list's objects; the same list if it holds nothing else. None if the value is not a list. */
export function recordsIn(list: unknown): readonly Record<string, unknown>[] {
  if (!Array.isArray(list)) return [];
  // `every` would skip the holes of a list.
  for (const item of list) if (!isRecord(item)) return list.filter(isRecord);
  return list;
}

/** Contract: never throws. Gets plain data's texts, including keys. */
type TextChange = (text: string) => string;

/** Whether any text of a value changes. It allocates nothing, because it runs for every message. */
export function changesTexts(value: unknown, change: TextChange, levels: number): boolean {
  if (typeof value === "string") return change(value) !== value;
  if (typeof value !== "object" || value === null || levels === 0) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (changesTexts(item, change, levels - 1)) return true;
    return false;
  }
  if (!isPlainObject(value)) return false;
  for (const name in value)
    if (change(name) !== name || changesTexts(value[name], change, levels - 1)) return true;
  return false;
}

/** A copy of the value with its texts changed. Anything that is not plain data, or nested deeper, is kept as it is. */
export function mapTexts(value: unknown, change: TextChange, levels: number): unknown {
  if (typeof value === "string") return change(value);
  if (levels === 0) return value;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, levels - 1));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), mapTexts(item, change, levels - 1)]),
  );
}

/** A copy with some of the fields. */
export function pickFields(
  fields: object,
  isWanted: (name: string, value: unknown) => boolean,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => isWanted(name, value)));
}

/** A copy with the fields that are not undefined. */
export function defined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return pickFields(fields, (_, value) => value !== undefined) as never;
}

export function addToList<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

interface Entries<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** A key's value in a map. It is made when first requested. */
export function madeOnce<Key, Value>(entries: Entries<Key, Value>, key: Key, make: () => Value): Value {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const made = make();
  entries.set(key, made);
  return made;
}

/**
 * The name of a value's native class, such as `Uint8Array` or `Headers`. Every realm has its own classes with these
 * names.
 */
export function nativeClassOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** A count that somebody else reports. Undefined if it is not a number, negative, or too large to be added up. */
export function soundCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

/** The smallest of the numbers that are known. Undefined if none is. */
export function least(...numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Whether an object has methods with these names: a foreign class, of which a program can have several copies. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  const isObject = typeof value === "object" && value !== null;
  return isObject && names.every((name) => typeof Reflect.get(value, name) === "function");
}

/** A value's nearest prototype that has this member itself: the class that a method comes from. */
export function prototypeWith<Value extends object>(value: Value, name: PropertyKey): Value | undefined {
  let prototype: Value | null = Object.getPrototypeOf(value);
  while (prototype !== null && !Object.hasOwn(prototype, name)) prototype = Object.getPrototypeOf(prototype);
  return prototype ?? undefined;
}
