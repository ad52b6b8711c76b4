/** Where the messages of the user come from. */
export interface LineReader {
  /** The next message; undefined when there will be none. */
  next(): Promise<string | undefined>;
  /** What the user has typed since the last message was taken. */
  readDraft(): string;
  /** Throws away what was typed. @returns whether there was anything. */
  discardDraft(): boolean;
  close(): void;
}
