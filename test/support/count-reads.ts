/** Measures the work of a function on a list, in steps that are the same on every machine. */

/** How often `run` reads a property of an item of the list. */
export function countReads<T extends object>(
  items: readonly T[],
  run: (items: readonly T[]) => void,
): number {
  let reads = 0;
  const counted = items.map(
    (item) =>
      new Proxy(item, {
        get: (target, key, receiver) => {
          reads += 1;
          return Reflect.get(target, key, receiver);
        },
      }),
  );
  run(counted);
  return reads;
}
