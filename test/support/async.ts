/** Streams, and work that goes on at the same time. */

import pLimit from "p-limit";

/** What a stream gives, when it has ended. */
export async function allOf<Item = unknown>(
  stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of await stream) items.push(item as Item);
  return items;
}

const MANY = 50;

/**
 * Lets the event loop turn many times. After that, all work in this process has ended that does not wait for a timer or
 * another process, even on a busy machine.
 */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < MANY; turn += 1) await new Promise(setImmediate);
}

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
