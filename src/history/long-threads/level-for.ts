/**
 * The highest level to which sizes can be cut so that their sum is at most `room`. Sizes below the level stay
 * whole, and leave their room to the others. Infinity if nothing has to be cut.
 */
export function levelFor(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const level = Math.floor(left / (sizes.length - index));
    if (size > level) return Math.max(level, 0);
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}
