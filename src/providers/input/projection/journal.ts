/** What the steps remember, so that they can go back to an earlier message. */
export class Journal {
  readonly #undo: (() => void)[] = [];

  get length(): number {
    return this.#undo.length;
  }

  /** @param undo Takes back what has just been remembered. */
  note(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Takes back what was noted after the journal had this length. */
  rewind(length: number): void {
    while (this.#undo.length > length) this.#undo.pop()?.();
  }
}

/**
 * Adds a value to a set, until the journal goes back.
 *
 * @returns Whether it was not in the set.
 */
export function addNoted<Value>(set: Set<Value>, value: Value, journal: Journal): boolean {
  const { size } = set;
  // One search instead of two.
  if (set.add(value).size === size) return false;
  journal.note(() => set.delete(value));
  return true;
}
