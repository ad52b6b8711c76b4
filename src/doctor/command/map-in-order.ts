/**
 * Works on several items at once, and gives the results in the order of the items. At most `concurrency` results wait.
 *
 * @param signal When it is aborted, no further item is begun, and what was begun is finished.
 */
export async function* mapInOrder<Item, Result>(
  items: AsyncIterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const waiting: Promise<Result>[] = [];
  const begin = (item: Item): void => {
    const result = work(item);
    // It is awaited in its turn. Until then, a rejection must not end the process.
    result.catch(() => {});
    waiting.push(result);
  };
  const iterator = items[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const next = await iterator.next();
      if (next.done === true) break;
      begin(next.value);
      const [first] = waiting;
      if (waiting.length < concurrency || first === undefined) continue;
      yield await first;
      waiting.shift();
    }
    for (const result of waiting) yield await result;
  } finally {
    await Promise.allSettled(waiting);
    await iterator.return?.();
  }
}
