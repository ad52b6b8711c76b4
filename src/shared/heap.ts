/** A binary heap. Its first item is the one that comes before all others. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (one: T, other: T) => boolean;

  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    let place = this.#items.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.#isBefore(item, above)) break;
      this.#items[place] = above;
      place = parent;
    }
    this.#items[place] = item;
  }

  removeFirst(): void {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined || items.length === 0) return;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as T, items[child] as T)) child += 1;
      if (!this.#isBefore(items[child] as T, last)) break;
      items[place] = items[child] as T;
      place = child;
    }
    items[place] = last;
  }
}
