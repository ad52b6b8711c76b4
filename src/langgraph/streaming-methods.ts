/**
 * The methods that a chat model calls on `this` while it streams. The second one is internal to LangChain.
 */
export const STREAMING_METHODS: ReadonlySet<unknown> = new Set(["stream", "_streamIterator"]);
