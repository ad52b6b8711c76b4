/** A thread as the page of one chat UI has it. */

import type { Thread } from "../served.js";

export interface Chat {
  readonly thread: Thread;
  /** Sends a message. Resolves when its run has ended. */
  send(text: string): Promise<unknown>;
  /** Its stop button. */
  stop(): Promise<unknown>;
  /** The lines of what it shows, without the messages whose id says that they are hidden. */
  shown(): Promise<string[]>;
  /** Approves the call that waits. */
  approve(): Promise<unknown>;
  /** Asks for another response in place of the last one. */
  regenerate(): Promise<unknown>;
  /** Sends another text in place of the last message of the user. */
  edit(text: string): Promise<unknown>;
}

export const isHidden = ({ id }: { readonly id?: string | undefined }) =>
  id?.startsWith("do-not-render-") === true;
