/** The recorded conversations of gpt-4o that lie beside the repository; tests that need them are skipped without. */

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface RecordedMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

interface RecordedConversation {
  readonly id: string;
  readonly messages: readonly RecordedMessage[];
}

/** `RECORDED_CONVERSATIONS` names the file where it lies elsewhere, as for a second worktree. */
const FILE =
  process.env["RECORDED_CONVERSATIONS"] ??
  fileURLToPath(new URL("../../../shared/data/gpt-4o-airline.jsonl", import.meta.url));

export const areRecordingsThere = existsSync(FILE);

/** The title of a suite, which says why it is skipped. */
export const titleOfRecordings = (title: string) =>
  areRecordingsThere ? title : `${title}, skipped: there is no ${FILE}`;

export function readRecordings(): readonly RecordedConversation[] {
  if (!areRecordingsThere) return [];
  const lines = readFileSync(FILE, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line): RecordedConversation => JSON.parse(line));
}
