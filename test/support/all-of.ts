/** What a stream gives, when it has ended. */
export async function allOf<Item = unknown>(
  stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of await stream) items.push(item as Item);
  return items;
}
