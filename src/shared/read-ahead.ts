/** A generator that is read to its end even if nobody takes what it yields. */

type End = { readonly kind: "done" } | { readonly kind: "failed"; readonly error: unknown };

/**
 * Starts to read a generator, and yields what it yields. What nobody has taken yet is kept, so the generator ends
 * although a caller stops reading. A caller that returns early closes it.
 *
 * @throws The error of the source, after everything that it has yielded.
 */
export function readAhead<Item>(source: AsyncGenerator<Item>): AsyncGenerator<Item> {
  const items: Item[] = [];
  let end: End | undefined;
  let wake = () => {};

  const read = async (): Promise<void> => {
    try {
      for await (const item of source) {
        items.push(item);
        wake();
      }
      end = { kind: "done" };
    } catch (error) {
      end = { kind: "failed", error };
    }
    wake();
  };
  const reading = read();

  const take = async function* (): AsyncGenerator<Item> {
    try {
      for (;;) {
        yield* items.splice(0);
        if (items.length > 0) continue;
        if (end?.kind === "failed") throw end.error;
        if (end !== undefined) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      await source.return(undefined);
      await reading;
    }
  };
  return take();
}
