/** What the pages show of a whole thread. */

import type { BaseMessage } from "@langchain/core/messages";
import { printableLine } from "../../../doctor/command/text.js";
import { isUserMessage } from "../../../history/summary.js";
import { type Mark, marksOfStored } from "./mark.js";
import { excerptOf } from "./message-view.js";

const REPAIRS: ReadonlySet<string> = new Set(["recovered", "placeholder", "made-up"]);

export interface LastRepair {
  readonly mark: Mark;
  /** The position of the message, from 1. */
  readonly position: number;
}

/** The last message that a repair has written; null if there is none. */
export function lastRepairIn(messages: readonly BaseMessage[]): LastRepair | null {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    const mark = message && marksOfStored(message).find(({ code }) => REPAIRS.has(code));
    if (mark !== undefined) return { mark, position: index + 1 };
  }
  return null;
}

/** A name for people: what the metadata calls it, or the first words of its user. */
export function titleOf(
  messages: readonly BaseMessage[],
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string {
  const given = metadata?.["title"];
  if (typeof given === "string" && given.trim() !== "") return printableLine(given.slice(0, 120));
  const first = messages.find(isUserMessage);
  return first === undefined ? "" : excerptOf(first);
}
