import { contentText } from "../../../history/messages/content-text.js";
import { coerceMessage } from "../../../history/reading/coerce-message.js";
import type { StoredThread } from "../../stored-thread.js";

const LONGEST = 120;

/** The beginning of a message of the thread, on one line; empty if it has no text. */
export function excerptOf({ content }: StoredThread, index: number): string {
  const values = "messages" in content ? (content.messages ?? []) : [];
  const message = coerceMessage(values[index]);
  const text = message === undefined ? "" : contentText(message).replaceAll(/\s+/g, " ").trim();
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
