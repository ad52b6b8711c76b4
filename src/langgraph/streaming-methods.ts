/**
 * The methods of a chat model, as of any runnable, that call each other on `this` while it streams. The second one is
 * internal to LangChain.
 */
export const STREAMING_METHODS: ReadonlySet<unknown> = new Set(["stream", "_streamIterator"]);
