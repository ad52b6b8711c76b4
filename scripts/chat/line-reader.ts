/** The source of the user's messages. */
export interface LineReader {
  /** The next message. Undefined if there are no more. */
  next(): Promise<string | undefined>;
  /** The text that the user has typed since the last message. */
  readDraft(): string;
  /** Discards the typed text. @returns whether there was any. */
  discardDraft(): boolean;
  close(): void;
}
