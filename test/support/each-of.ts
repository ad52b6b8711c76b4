import pLimit from "p-limit";

/** Handles items, several at once, and gives the results in the order of the items. */
export async function eachOf<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  handle: (item: Item, index: number) => Promise<Result>,
  concurrency = 8,
): Promise<Result[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  const limit = pLimit(concurrency);
  return Promise.all(all.map((item, index) => limit(() => handle(item, index))));
}
