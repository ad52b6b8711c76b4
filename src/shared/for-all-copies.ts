/**
 * A value that all copies of this library in a process share. A program that both imports and requires the library has
 * two copies, but a thread has one queue in a process.
 *
 * Contract: the name says what the value is. A copy can be another version, so a new kind of value gets a new name.
 */
export function forAllCopies<Value>(name: string, make: () => Value): Value {
  const key = Symbol.for(`langgraph-tether.${name}`);
  const found: unknown = Reflect.get(globalThis, key);
  if (found !== undefined) return found as Value;
  const made = make();
  Object.defineProperty(globalThis, key, { value: made });
  return made;
}
