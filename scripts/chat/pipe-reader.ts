import { createInterface } from "node:readline";
import type { LineReader } from "./line-reader.js";

/** Reads a pipe or a file: each line is a message. */
export function createPipeReader(input: NodeJS.ReadableStream): LineReader {
  const lines = createInterface({ input });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      return done === true ? undefined : value;
    },
    readDraft: () => "",
    discardDraft: () => false,
    close: () => lines.close(),
  };
}
